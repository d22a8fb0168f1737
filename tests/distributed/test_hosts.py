"""Trainings on several hosts, which are network namespaces of this machine (hosts.py), and whatever
may go wrong between them. CURNM_PROGRAM is the program; `./dev hosts` adds the cases that take long.

Each case prints how long it took until the last rank had ended, and what the ranks said: -rP shows it.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from hosts import Hosts, NoRights, enter_namespaces, small_disk

CURNM = os.environ["CURNM_PROGRAM"]
SMALL = {"--model": "tgn", "--outputs": "single", "--decoder": "additive", "--tau": "0.99",
         "--width": "16", "--time-width": "8", "--neighbors": "4", "--batch": "20", "--epochs": "4",
         "--threads": "1", "--checkpoint-seconds": "0", "--out": "run"}
HANGS = 150  # seconds after which a rank that has not ended is a failure
long = pytest.mark.skipif(os.environ.get("CURNM_LONG") != "1", reason="takes long: ./dev hosts")
ports = itertools.count(29500)


def run(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def machine():
    try:
        enter_namespaces()
    except NoRights as error:
        pytest.skip(f"no hosts on this machine, which needs root or user namespaces: {error}")


@pytest.fixture(scope="session")
def data(machine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    run([CURNM, *"generate --out net --nodes 60 --events 1500".split()], folder)
    found = subprocess.run([CURNM, "doctor", "--ranks", "2"], capture_output=True, text=True)
    if "without Gloo" in found.stderr:
        pytest.skip("this curnm is built without Gloo")
    return folder / "net"


@pytest.fixture(scope="session")
def four_hosts(machine):
    with Hosts(4) as hosts:
        yield hosts


class Rank:
    """A process of a training on one of the hosts, with a folder of its own."""

    def __init__(self, hosts, folder, rank, words, host=None, size=4, port=0, master=None,
                 program=CURNM):
        host = rank if host is None else host
        self.name = f"rank {rank}"
        self.folder = folder / f"host{host}"
        self.folder.mkdir(exist_ok=True)
        self.log = folder / f"rank-{rank}-{host}-{next(ports)}.log"
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(size), OMP_NUM_THREADS="1",
                           MASTER_ADDR=master or hosts.address(0), MASTER_PORT=str(port))
        with open(self.log, "w") as log:
            self.process = hosts.start(host, [program, *map(str, words)], cwd=self.folder, stdout=log,
                                       stderr=log, env=environment)

    def said(self):
        return self.log.read_text()

    def code(self):
        return self.process.poll()

    def wait_for(self, text):
        """Until it has said so."""
        begin = time.monotonic()
        while not re.search(text, self.said()):
            assert self.code() is None and time.monotonic() - begin < HANGS, self.said()
            time.sleep(0.02)

    def last_words(self):
        lines = [line for line in self.said().splitlines() if line.strip()]
        first = next((i for i, line in enumerate(lines) if "curnm: " in line or ": " in line and
                      line.startswith("train failed")), len(lines) - 1)
        return " ".join(lines[first:])[:400] if lines else ""


class Training:
    """All ranks of one training."""

    def __init__(self, hosts, folder, size=4):
        self.hosts, self.folder, self.size, self.port = hosts, folder, size, next(ports)
        self.ranks = []
        self.begin = time.monotonic()

    def start(self, rank, words, **options):
        options = {"size": self.size, "port": self.port} | options
        self.ranks.append(Rank(self.hosts, self.folder, rank, words, **options))
        return self.ranks[-1]

    def start_all(self, words):
        for rank in range(self.size):
            self.start(rank, words)
        return self

    def clock(self):
        """Whatever goes wrong begins now."""
        self.begin = time.monotonic()

    def end(self):
        """Waits for all; returns exit codes. Nobody may be left."""
        try:
            for rank in self.ranks:
                rank.process.wait(max(1, HANGS - (time.monotonic() - self.begin)))
        finally:
            seconds = time.monotonic() - self.begin
            for rank in self.ranks:
                if rank.code() is None:
                    rank.process.kill()
                    rank.process.wait()
                print(f"{rank.name} [{rank.code()}] {rank.last_words()}")
            print(f"all had ended after {seconds:.1f} s")
        return [rank.code() for rank in self.ranks]

    def run(self, words):
        codes = self.start_all(words).end()
        assert codes == [0] * self.size
        return self

    def said(self):
        return [rank.said() for rank in self.ranks]


def outcome(run):
    """What a training has computed: figures of the epochs without times, test, weights."""
    epochs = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for epoch in epochs:
        del epoch["seconds"], epoch["stages"]
    test = json.loads((run / "result.json").read_text())["test"]
    return epochs, test, (run / "model").read_bytes()


@pytest.fixture(scope="session")
def undisturbed(data, tmp_path_factory):
    """What four processes on one host make of SMALL."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run([CURNM, *train(data, "--ranks", "4")], folder)
    return outcome(folder / "run")


def train(data, *options):
    """The command with these options and their values, and those of SMALL."""
    given = SMALL | dict(zip(options[::2], options[1::2]))
    return ["train", data, *itertools.chain(*given.items())]


def test_four_hosts_come_to_the_bits_of_four_local_processes(four_hosts, data, undisturbed, tmp_path):
    Training(four_hosts, tmp_path).run(train(data))
    assert outcome(tmp_path / "host0/run") == undisturbed
    assert not (tmp_path / "host1/run").exists(), "the folder is that of rank 0 alone"


def test_hosts_may_have_the_data_elsewhere_but_not_other_data(four_hosts, data, tmp_path):
    shutil.copytree(data, tmp_path / "copy")
    same = Training(four_hosts, tmp_path, size=2)
    same.start(0, train(data))
    same.start(1, train(tmp_path / "copy"))
    assert same.end() == [0, 0]
    run([CURNM, *"generate --out other --nodes 60 --events 1500 --seed 5".split()], tmp_path)
    different = Training(four_hosts, tmp_path, size=2)
    different.start(0, train(data, "--out", "different"))
    different.start(1, train(tmp_path / "other", "--out", "different"))
    assert different.end() == [1, 1]
    for said in different.said():
        assert re.search("ranks 0 and 1 differ in (columns|digest) of the data", said)
    assert not (tmp_path / "host0/different").exists()


@pytest.mark.parametrize("option, difference", [
    (("--batch", "30"), "train, batch: 20 and 30"),
    (("--seed", "5"), "train, seed: 0 and 5"),
    (("--neighbors", "5"), "model, neighbors: 4 and 5"),
])
def test_other_options_are_named(four_hosts, data, tmp_path, option, difference):
    training = Training(four_hosts, tmp_path, size=2)
    training.start(0, train(data))
    training.start(1, train(data, *option))
    assert training.end() == [1, 1]
    for said in training.said():
        assert "ranks 0 and 1 differ in" in said and difference in said
    assert not (tmp_path / "host0/run").exists()


def test_another_version_is_named(four_hosts, data, tmp_path):
    version = run([CURNM, "--version"], tmp_path).split()[-1]
    other = version[:-1] + ("0" if version[-1] != "0" else "1")
    for name in ("curnm", "curnm-torch"):
        program = tmp_path / name
        known = pathlib.Path(CURNM).with_name(name).read_bytes()
        program.write_bytes(known.replace(version.encode(), other.encode()))
        program.chmod(0o755)
    program = tmp_path / "curnm"
    assert other in run([program, "--version"], tmp_path)
    training = Training(four_hosts, tmp_path, size=2)
    training.start(0, train(data))
    training.start(1, train(data), program=str(program))
    assert training.end() == [1, 1]
    for said in training.said():
        assert f'ranks 0 and 1 differ in version of curnm: "{version}" and "{other}"' in said


def test_a_wrong_number_of_ranks(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=2)
    training.start(0, train(data), size=3)
    training.start(1, train(data))
    assert training.end() == [1, 1]
    for said in training.said():
        assert "the ranks disagree about their number" in said
        assert "3 ranks, says rank 0 (host host0," in said and "2 ranks, says rank 1 (host host1," in said


def test_a_rank_that_does_not_come(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=4)
    for rank in (0, 1, 3):
        training.start(rank, train(data, "--join-seconds", "3"))
    assert training.end() == [1, 1, 1]
    for said in training.said():
        assert "1 of 4 ranks did not come within 3 s: 2" in said


def test_a_port_in_use(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=2)
    with four_hosts.on(0):
        squatter = socket.create_server(("", training.port))
    with squatter:
        training.start(0, train(data, "--join-seconds", "3"))
        training.start(1, train(data, "--join-seconds", "3"))
        assert training.end() == [1, 1]
    assert f"port {training.port} of this host is in use" in training.said()[0]
    assert "does another program listen at that port?" in training.said()[1]


@pytest.mark.parametrize("master", ["10.77.0.4", "10.77.0.99", "no-such-host.invalid"],
                         ids=["nobody listens", "no such address", "no such name"])
def test_an_unreachable_master(four_hosts, data, tmp_path, master):
    training = Training(four_hosts, tmp_path, size=2)
    training.start(1, train(data, "--join-seconds", "3"), master=master)
    assert training.end() == [1]
    assert f"rank 0 did not answer at {master}:{training.port} within 3 s" in training.said()[0]
    assert "is MASTER_ADDR an address of its host that this one can reach" in training.said()[0]


def test_an_interface_that_is_not_there(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=2)
    training.start(0, train(data, "--join-seconds", "3"))
    training.start(1, train(data, "--join-seconds", "3", "--interface", "eth7"))
    assert training.end()[1] == 2
    assert "--interface eth7" in training.said()[1]


def test_a_rank_that_starts_twice(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=3)
    training.start(0, train(data))
    twins = [training.start(1, train(data), host=host) for host in (1, 3)]
    begin = time.monotonic()
    while all(twin.code() is None for twin in twins):
        assert time.monotonic() - begin < HANGS
        time.sleep(0.05)
    training.start(2, train(data))
    assert sorted(training.end()) == [0, 0, 0, 1], "the others train"
    refused = next(twin for twin in twins if twin.code() == 1)
    assert re.search(r"rank 1 was started twice: rank 1 \(host host[13], process \d+\) has come before "
                     r"rank 1 \(host host[13]", refused.said())


def test_a_loss_that_is_no_number_on_one_rank(four_hosts, tmp_path):
    rows = ["src,dst,time,feature"]
    # Only the last quarter of the training events, which is that of rank 3, has features too large.
    for event in range(1500):
        feature = 3e38 if 800 < event < 1000 else event % 5
        rows.append(f"{event * 7 % 30},{30 + event * 11 % 30},{event},{feature}")
    (tmp_path / "large.csv").write_text("\n".join(rows) + "\n")
    training = Training(four_hosts, tmp_path)
    training.start_all(train(tmp_path / "large.csv", "--features", "raw"))
    assert training.end() == [1] * 4
    for said in training.said():
        assert re.search("the loss on rank 3 became (nan|inf|-nan)", said)


def test_a_full_disk_on_rank_0(four_hosts, data, undisturbed, tmp_path):
    (tmp_path / "host0").mkdir()
    with small_disk(tmp_path / "host0", 200 << 10):
        training = Training(four_hosts, tmp_path).start_all(train(data))
        assert training.end() == [4, 1, 1, 1]
        assert "No space left on device" in training.said()[0]
        for said in training.said()[1:]:
            assert "rank 0: " in said and "No space left on device" in said
            assert "go on with: curnm train --resume run" in said
        shutil.copytree(tmp_path / "host0", tmp_path / "larger")
    shutil.copytree(tmp_path / "larger", tmp_path / "host0", dirs_exist_ok=True)
    Training(four_hosts, tmp_path).run(["train", "--resume", "run", "--threads", "1"])
    assert outcome(tmp_path / "host0/run") == undisturbed


@pytest.mark.parametrize("who", [(0,), (2,), (0, 1, 2, 3)], ids=["rank 0", "rank 2", "all"])
def test_an_interrupt(four_hosts, data, undisturbed, tmp_path, who):
    training = Training(four_hosts, tmp_path).start_all(train(data))
    training.ranks[0].wait_for(r"epoch   1 ")
    training.clock()
    for rank in who:
        training.ranks[rank].process.send_signal(signal.SIGINT)
    codes = training.end()
    assert codes == [130 if rank in who else 0 for rank in range(4)]
    assert "stopped; continue with: curnm train --resume run" in training.said()[0]
    Training(four_hosts, tmp_path).run(["train", "--resume", "run", "--threads", "1"])
    assert outcome(tmp_path / "host0/run") == undisturbed


@pytest.mark.parametrize("who", [0, 2])
def test_a_rank_that_is_killed(four_hosts, data, undisturbed, tmp_path, who):
    training = Training(four_hosts, tmp_path).start_all(train(data))
    training.ranks[0].wait_for(r"epoch   1 ")
    training.clock()
    training.ranks[who].process.kill()
    codes = training.end()
    assert codes == [-9 if rank == who else 1 for rank in range(4)]
    process = training.ranks[who].process.pid
    for rank, said in enumerate(training.said()):
        assert rank == who or f"rank {who} (host host{who}, process {process})" in said
    Training(four_hosts, tmp_path).run(["train", "--resume", "run", "--threads", "1"])
    assert outcome(tmp_path / "host0/run") == undisturbed


def test_a_slow_rank_is_reported(four_hosts, tmp_path):
    run([CURNM, *"generate --out larger --nodes 60 --events 12000".split()], tmp_path)
    training = Training(four_hosts, tmp_path)
    training.start_all(train(tmp_path / "larger", "--epochs", "100", "--patience", "100"))
    slow = training.ranks[2].process
    while "rank 2 (host host2" not in training.said()[0]:
        assert training.ranks[0].code() is None, "it has ended without a word about it"
        for _ in range(20):  # a tenth of its speed
            slow.send_signal(signal.SIGSTOP)
            time.sleep(0.018)
            slow.send_signal(signal.SIGCONT)
            time.sleep(0.002)
    training.ranks[0].process.send_signal(signal.SIGINT)
    assert training.end() == [130, 0, 0, 0]
    for said in training.said():
        assert re.search(r"note: rank 2 \(host host2, process \d+\) is slow: in epoch \d+ others waited "
                         r"up to [0-9.]+ of [0-9.]+ s for it", said)


@long
def test_a_link_that_is_cut_for_ten_seconds(four_hosts, data, tmp_path):
    more = ("--epochs", "20", "--patience", "20")
    whole = tmp_path / "whole"
    whole.mkdir()
    run([CURNM, *train(data, *more, "--ranks", "4")], whole)
    training = Training(four_hosts, tmp_path).start_all(train(data, *more))
    training.ranks[0].wait_for(r"epoch   3 ")
    four_hosts.cut(2)
    time.sleep(10)
    four_hosts.mend(2)
    training.clock()
    assert training.end() == [0] * 4
    assert outcome(tmp_path / "host0/run") == outcome(whole / "run")


@long
@pytest.mark.parametrize("who", [0, 2])
def test_a_link_that_is_cut_for_good(four_hosts, data, undisturbed, tmp_path, who):
    training = Training(four_hosts, tmp_path).start_all(train(data))
    training.ranks[0].wait_for(r"epoch   1 ")
    training.clock()
    four_hosts.cut(who)
    try:
        assert training.end() == [1] * 4
    finally:
        four_hosts.mend(who)
    for rank, said in enumerate(training.said()):
        if who == 0 and rank == 0:
            assert "no other rank has answered rank 0 (host host0" in said
        else:  # the host that is cut off has lost rank 0
            assert re.search(rf"rank {0 if rank == who else who} \(host host", said)
    Training(four_hosts, tmp_path).run(["train", "--resume", "run", "--threads", "1"])
    assert outcome(tmp_path / "host0/run") == undisturbed


@long
def test_a_link_that_is_cut_while_ranks_meet(four_hosts, data, tmp_path):
    training = Training(four_hosts, tmp_path, size=3)
    for rank in (0, 1):
        training.start(rank, train(data, "--join-seconds", "10"))
    network = pathlib.Path(f"/proc/{training.ranks[1].process.pid}/net")
    while sum((network / name).read_text().count(f":{training.port:04X} 01 ")  # established
              for name in ("tcp", "tcp6")) < 2:
        assert training.ranks[1].code() is None
        time.sleep(0.02)
    time.sleep(0.3)
    training.clock()
    four_hosts.cut(1)
    try:
        assert training.end() == [1, 1]
    finally:
        four_hosts.mend(1)
    assert "1 of 3 ranks did not come within 10 s: 2" in training.said()[0]
    assert re.search("or the link to it broke|but nothing has come from there for 10 s",
                     training.said()[1])


@long
def test_a_training_that_is_halted_goes_on(four_hosts, data, undisturbed, tmp_path):
    training = Training(four_hosts, tmp_path).start_all(train(data))
    training.ranks[0].wait_for(r"epoch   1 ")
    for sign, seconds in ((signal.SIGSTOP, 25), (signal.SIGCONT, 0)):
        for rank in training.ranks:
            rank.process.send_signal(sign)
        time.sleep(seconds)
    training.clock()
    assert training.end() == [0] * 4
    assert outcome(tmp_path / "host0/run") == undisturbed
