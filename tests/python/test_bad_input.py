"""What goes wrong says what is wrong: never a crash, never a wrong result in silence."""

import math
import os
import subprocess
import sys
import textwrap
import threading

import curnm
import numpy as np
import pytest
import torch
from curnm import Error


@pytest.mark.parametrize("arrays, message", [
    (([0, 1], [1], [1, 2]), "differ in length"),
    (([0, 1], [1, 0], [2, 1]), "event 1: time 1 precedes 2"),
    (([0, 1], [1, 0], [1, math.nan]), r"time\[1\] is nan"),
    (([0, 1], [1, 0], [1, math.inf]), r"time\[1\] is inf"),
    (([0, -1], [1, 0], [1, 2]), r"src\[1\] is -1"),
    (([], [], []), "without events"),
    (([[0, 1]], [[1, 0]], [[1, 2]]), "2 dimensions"),
    (([0, 1], [1, 0], ["a", "b"]), "times are numbers"),
    (([0, 10**9], [1, 0], [1, 2]), "without gaps"),
    (([0.5, 1.0], [1, 0], [1, 2]), "ids are whole numbers"),
    (([[0], [1, 2]], [1, 0], [1, 2]), "src is no array"),
    ((np.array([0, 2**64 - 1], dtype=np.uint64), [1, 0], [1, 2]), "numbers above"),
])
def test_events_that_are_none(arrays, message):
    with pytest.raises(Error, match=message):
        curnm.Dataset(*arrays)


@pytest.mark.parametrize("features, message", [
    (np.zeros((3, 1)), "3 rows"), (np.zeros(2), "1 dimensions"), ([[1.0], [math.nan]], "nan"),
    ([["a"], ["b"]], "numbers are needed"),
])
def test_features_that_do_not_fit(features, message):
    with pytest.raises(Error, match=message):
        curnm.Dataset([0, 1], [1, 0], [1, 2], edge_features=features)


def test_arrays_of_every_kind_are_the_same_network():
    pandas = pytest.importorskip("pandas")
    src, dst, time = np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, 2.0, 3.0])
    expected = curnm.Dataset(src, dst, time).digest()
    strided = np.array([0, 9, 1, 9, 2, 9])[::2]
    frame = pandas.DataFrame({"u": src, "v": dst, "t": time})
    for arrays in [([0, 1, 2], [1, 2, 0], [1, 2, 3]), (strided, dst.astype(np.int8), time.astype("f4")),
                   (torch.tensor(src), torch.tensor(dst), torch.tensor(time)),
                   (frame.u, frame.v, frame.t), (src.astype(np.uint64), dst, time)]:
        assert curnm.Dataset(*arrays).digest() == expected


def test_errors_are_value_errors_with_the_texts_of_the_program(task):
    assert issubclass(Error, ValueError)
    with pytest.raises(Error, match="did you mean 'curnm'"):
        curnm.Miner("curmn", task, 8, 1)
    with pytest.raises(Error, match="option of curnm 'pol'; did you mean 'pool'"):
        curnm.Miner("curnm", task, 8, 1, pol=8)
    with pytest.raises(Error, match="--epochs"):
        curnm.train("synthetic:repeat", epochs=-1)
    with pytest.raises(Error, match="nowhere.csv"):
        curnm.load("nowhere.csv")
    with pytest.raises(Error, match="no past to learn from"):
        curnm.LinkTask(curnm.Dataset([0], [1], [1.0]))
    with pytest.raises(Error, match="options are texts"):
        curnm.LinkTask(task.data, split=[1])


@pytest.mark.parametrize("spoil, message", [
    (lambda z: z[:-1], "have shape"),
    (lambda z: z[:, :-1], "have shape"),
    (lambda z: z.unsqueeze(0), "have shape"),
    (lambda z: z * math.nan, "not a finite number"),
    (lambda z: z.detach(), "no gradient"),
    (lambda z: z.double(), "float32"),
    (lambda z: z.to("meta"), "on meta"),
    (lambda z: z.detach().numpy(), "a tensor of embeddings"),
    (lambda z: None, "a tensor of embeddings"),
])
def test_models_that_return_something_else(task, model, spoil, message):
    miner = curnm.Miner("curnm", task, 32, 1)
    decoder = curnm.Decoder("pair", task, 32)
    links = miner.propose(next(task.batches()))
    with pytest.raises(Error, match=message):
        miner.loss(links, spoil(model(links.nodes, links.times)), decoder)


@pytest.mark.parametrize("decoder, message", [
    (lambda u, v: (u * v).sum(1).detach(), "differentiable"),
    (lambda u, v: (u * v).sum(1)[:-1], "logits of shape"),
    (lambda u, v: (u * v), "logits of shape"),
    (lambda u, v: 1.0, "no tensor"),
    (lambda u, v: (u * v).sum(1) * math.nan, "loss became nan"),
    (lambda u, v: 1 / 0, None),
    ("additive", "no decoder"),
])
def test_decoders_that_are_none(task, model, decoder, message):
    miner = curnm.Miner("random", task, 32, 1)
    links = miner.propose(next(task.batches()))
    with pytest.raises(Error if message else ZeroDivisionError, match=message):
        miner.loss(links, model(links.nodes, links.times), decoder)


def test_calls_in_the_wrong_order(task, model):
    miner, other = (curnm.Miner("curnm", task, 32, 2) for _ in range(2))
    decoder = curnm.Decoder("pair", task, 32)
    with pytest.raises(Error, match="none was observed"):
        miner.end_epoch(0.5)
    links = miner.propose(next(task.batches()))
    with pytest.raises(Error, match="observe comes after loss"):
        miner.observe(links)
    with pytest.raises(Error, match="another miner"):
        other.loss(links, model(links.nodes, links.times), decoder)
    miner.loss(links, model(links.nodes, links.times), decoder).backward()
    miner.observe(links)
    with pytest.raises(Error, match="observed already"):
        miner.observe(links)
    with pytest.raises(Error, match="observed already"):
        miner.loss(links, model(links.nodes, links.times), decoder)
    with pytest.raises(Error, match="propose returned"):
        miner.loss(None, None, decoder)
    with pytest.raises(Error, match="a batch of task.batches"):
        miner.propose(links)
    with pytest.raises(Error, match="finite"):
        miner.end_epoch(math.nan)


def test_things_of_another_task(task, data, model):
    elsewhere = curnm.LinkTask(data, seed=0)
    miner = curnm.Miner("random", task, 32, 1)
    with pytest.raises(Error, match="another task"):
        miner.propose(next(elsewhere.batches()))
    links = miner.propose(next(task.batches()))
    z = model(links.nodes, links.times)
    with pytest.raises(Error, match="another task"):
        miner.loss(links, z, curnm.Decoder("pair", elsewhere, 32))
    with pytest.raises(Error, match="width"):
        miner.loss(links, z, curnm.Decoder("pair", task, 16))
    with pytest.raises(Error, match="outputs=1"):
        miner.loss(links, z, curnm.Decoder("pair", task, 32, outputs=4))
    with pytest.raises(Error, match="not a part of this task"):
        curnm.evaluate(task, elsewhere.test, lambda *_: 0)


@pytest.mark.parametrize("score, message", [
    (lambda s, d, t: torch.zeros(len(s) - 1), "shape"), (lambda s, d, t: s * math.nan, "finite"),
    (lambda s, d, t: "x", "numbers are needed"), (lambda s, d, t: torch.zeros(len(s), 2), "scores for"),
])
def test_scorers_that_are_none(task, score, message):
    with pytest.raises(Error, match=message):
        curnm.evaluate(task, task.test, score)


def test_questions_that_cannot_be_asked(data, task):
    with pytest.raises(Error, match="nodes are the numbers 0 .. 59"):
        curnm.pair_statistics(data, [60], [0], [1.0])
    with pytest.raises(Error, match="differ in length"):
        curnm.pair_statistics(data, [1, 2], [0], [1.0])
    with pytest.raises(Error, match="k is 0"):
        curnm.neighbors(data, [1], [1.0], k=0)
    with pytest.raises(Error, match="did you mean 'historical'"):
        curnm.negatives(task, "historicl")
    with pytest.raises(Error, match=r"\[n,m\]"):
        curnm.mrr([1.0, 2.0], [[1.0]])
    with pytest.raises(Error, match="no positives"):
        curnm.average_precision([], [1.0])


def test_objects_outlive_their_data(model):
    def make():
        data = curnm.Dataset(np.arange(300) % 7, 7 + np.arange(300) % 5, np.arange(300.0),
                             edge_features=np.ones((300, 2), dtype=np.float32))
        task = curnm.LinkTask(data)
        return data.time, data.edge_features, curnm.Miner("curnm", task, 32, 1), next(task.batches())
    time, features, miner, batch = make()
    junk = [np.zeros((300, 2)) for _ in range(100)]
    assert time[-1] == 299 and features.sum() == 600 and len(junk) == 100
    links = miner.propose(batch)
    assert links.nodes.max() < 12
    with pytest.raises(ValueError):
        time[0] = 5  # a view of what others rely on


def test_many_threads_at_once(task, data):
    failures = []

    def work(seed):
        try:
            miner = curnm.Miner("curnm", task, 32, 1)
            for batch in task.batches(epoch=seed):
                miner.propose(batch)
            curnm.pair_statistics(data, task.test.src, task.test.dst, task.test.time)
        except Exception as error:  # noqa: BLE001
            failures.append(error)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def run_python(program, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True,
                          capture_output=True, timeout=120, env=os.environ, **options)


def test_a_fork_after_threads_ran(tmp_path):
    ended = run_python("""
        import os, curnm, numpy as np
        data = curnm.load("synthetic:repeat")
        ask = lambda: curnm.pair_statistics(data, data.src, data.dst, data.time).sum()
        before = ask()
        child = os.fork()
        if child == 0:
            os._exit(0 if ask() == before else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)
    assert ended.returncode == 0, ended.stderr


def test_a_loader_with_workers(tmp_path):
    ended = run_python("""
        import curnm, torch
        data = curnm.load("synthetic:repeat")
        task = curnm.LinkTask(data)
        class Questions(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i):
                return curnm.pair_statistics(task, data.src[i::4], data.dst[i::4], data.time[i::4])
        whole = sum(Questions()[i].sum() for i in range(4))
        loader = torch.utils.data.DataLoader(Questions(), num_workers=2)
        assert abs(sum(part.sum() for part in loader) - whole) < 1e-3 * abs(whole)
    """)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("call", [
    'curnm.train(curnm.load("synthetic:repeat"), model="tgn", epochs=100, progress=False)',
    'curnm.load("many.csv")',
])
def test_interrupted_within_a_second(tmp_path, call):
    with open(tmp_path / "many.csv", "w") as file:
        file.write("src,dst,time\n")
        file.writelines(f"{i % 1000},{i % 777},{i}\n" for i in range(2_000_000 if "many" in call else 1))
    ended = run_python(f"""
        import curnm, os, signal, threading, time
        pressed = []
        def press():
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer({0.2 if "many" in call else 1.0}, press).start()
        try:
            {call}
        except KeyboardInterrupt:
            assert time.monotonic() - pressed[0] < 1
            print("interrupted")
    """, cwd=tmp_path)
    assert "interrupted" in ended.stdout, ended.stderr
