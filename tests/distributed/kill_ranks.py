#!/usr/bin/env python3
"""Kills ranks at random instants, goes on with the training, and compares the bits.

  tests/distributed/kill_ranks.py CURNM --kills 50 --ranks 3

Every second kill is of one rank, picked at random; the others must then end by themselves. The rest is of
all ranks and of the process that has started them, at once. `train --resume` (or the same command again,
where there is no run yet) must then come to the bits of a training that nobody has disturbed. Exit code 1
at the first difference.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

SMALL = ("--model tgn --outputs single --decoder additive --tau 0.99 --width 16 --time-width 8 "
         "--neighbors 4 --batch 20 --epochs 4 --threads 1 --checkpoint-seconds 0").split()
HANGS = 180


class Training:
    def __init__(self, arguments, folder):
        self.begin = [arguments.curnm, "train", "net", *SMALL, "--ranks", str(arguments.ranks),
                      "--out", "run"]
        self.resume = [arguments.curnm, "train", "--resume", "run", "--checkpoint-seconds", "0"]
        self.folder = folder

    def start(self):
        words = self.resume if (self.folder / "run").exists() else self.begin
        return subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def finish(self):
        """Starts it again and lets it end."""
        process = self.start()
        _, said = process.communicate(timeout=HANGS)
        if process.returncode != 0:
            raise SystemExit(f"the next command has failed ({process.returncode}): {said}")

    def outcome(self):
        run = self.folder / "run"
        epochs = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        for epoch in epochs:
            del epoch["seconds"], epoch["stages"]
        test = json.loads((run / "result.json").read_text())["test"]
        return epochs, test, (run / "model").read_bytes()

    def progress(self):
        """How far it had come, as its folder shows it."""
        run = self.folder / "run"
        for name, text in (("result.json", "after the result"), ("checkpoint", "after a checkpoint"),
                           ("options.json", "before the first checkpoint")):
            if (run / name).exists():
                return text
        return "before there was a run"


def ranks_of(process):
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with open(children) as file:
        return [int(child) for child in file.read().split()]


def kill(pid):
    try:
        pathlib.Path(f"/proc/{pid}").stat()
        os.kill(pid, signal.SIGKILL)
        return True
    except (FileNotFoundError, ProcessLookupError):
        return False


def disturb(process, one, run, seconds):
    """Kills so many seconds after `run` has appeared, or after now where it is null. Returns how many
    processes that was."""
    while run and not run.exists() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(seconds)
    if process.poll() is not None:
        return 0
    ranks = ranks_of(process)
    if one:
        return int(bool(ranks) and kill(random.choice(ranks)))
    return sum([kill(process.pid), *[kill(rank) for rank in ranks]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("curnm")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.curnm = str(pathlib.Path(arguments.curnm).resolve())
    random.seed(arguments.seed)
    counts = {True: collections.Counter(), False: collections.Counter()}
    longest = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.curnm, *"generate --out net --nodes 60 --events 1500".split()],
                       cwd=folder, check=True, capture_output=True)
        training = Training(arguments, folder)
        begin = time.monotonic()
        process = training.start()
        while not (folder / "run").exists() and process.poll() is None:
            time.sleep(0.005)
        until_run = time.monotonic() - begin
        process.communicate(timeout=HANGS)
        whole = time.monotonic() - begin
        expected = training.outcome()
        kills = 0
        while kills < arguments.kills:
            shutil.rmtree(folder / "run", ignore_errors=True)
            one = kills % 2 == 0
            process = training.start()
            early = random.random() < 0.2
            killed = disturb(process, one, None if early else folder / "run",
                             random.uniform(0, until_run if early else whole - until_run))
            at = training.progress()
            begin = time.monotonic()
            _, said = process.communicate(timeout=HANGS)
            ended = time.monotonic() - begin
            if killed == 0 or (one and process.returncode == 0):
                continue  # it was over before: another instant
            kills += 1
            counts[one][at] += 1
            longest = max(longest, ended)
            training.finish()
            if training.outcome() != expected:
                raise SystemExit(f"kill {kills} ({'one rank' if one else 'all'}, {at}): other bits\n{said}")
            print(f"{kills}: {'one rank' if one else 'all'} killed {at}, the rest had ended after "
                  f"{ended:.1f} s; the same bits", flush=True)
    for one in (True, False):
        if counts[one]:
            print(f"{sum(counts[one].values())} kills of {'one rank' if one else 'all'}: "
                  + ", ".join(f"{count} {at}" for at, count in sorted(counts[one].items())))
    print(f"{kills} kills with {arguments.ranks} ranks, seed {arguments.seed}: all came to the same bits; "
          f"undisturbed {whole:.1f} s, the others had ended after {longest:.1f} s at most")


if __name__ == "__main__":
    main()
