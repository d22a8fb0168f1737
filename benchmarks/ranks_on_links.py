#!/usr/bin/env python3
"""Times of trainings on several hosts with limited links, beside what the model of docs/scaling.md says.

  benchmarks/ranks_on_links.py CURNM DATA --ranks 2 --links none 1000,1 100,1 1000,10

A link is the megabits per second of a host in either direction, and the milliseconds that a packet takes.
The hosts are network namespaces of this machine (tests/distributed/hosts.py), so that as many ranks as
there are cores can be measured without sharing any.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "../tests/distributed"))
from hosts import Hosts, enter_namespaces  # noqa: E402


def on_all(hosts, words, ranks):
    """Runs the command as a rank on each host; what rank 0 has printed."""
    processes = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), OMP_NUM_THREADS="1",
                           MASTER_ADDR=hosts.address(0), MASTER_PORT="29500")
        processes.append(hosts.start(rank, words, env=environment, stderr=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL))
    printed = processes[0].communicate()[0]
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"{' '.join(words)} has ended with {codes}")
    return json.loads(printed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("curnm")
    parser.add_argument("data")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--links", nargs="+", default=["none", "1000,1", "100,1", "1000,10"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=200)
    arguments = parser.parse_args()
    enter_namespaces()
    data = str(pathlib.Path(arguments.data).resolve())
    curnm = str(pathlib.Path(arguments.curnm).resolve())
    bench = [curnm, "bench", "ranks", "--data", data, "--epochs", "1", "--batch", str(arguments.batch)]
    doctor = [curnm, "doctor", "--ranks", str(arguments.ranks), "--json"]
    found = {link: [] for link in arguments.links}
    measured = {}
    for _ in range(arguments.rounds):  # in turn, so that a slow minute of the machine slows all of them
        for link in arguments.links:
            limits = {}
            if link != "none":
                rate, delay = map(float, link.split(","))
                limits = {"rate": rate * 1e6, "delay": delay / 1e3}
            with Hosts(arguments.ranks, **limits) as hosts:
                found[link].append(on_all(hosts, bench, arguments.ranks))
                measured[link] = on_all(hosts, doctor, arguments.ranks)
    for link, runs in found.items():
        rates = [rate for run in runs for rate in run["events_per_s"]]
        rate = statistics.median(rates)
        print(json.dumps({
            "link": link, "ranks": arguments.ranks, "events_per_s": rate, "all": rates,
            "step_ms": 1e3 * arguments.ranks * arguments.batch / rate,
            "exchange_ms": statistics.median(run["exchange_ms_per_step"] for run in runs),
            "bytes_per_step": runs[0]["bytes_per_step"], "doctor": measured[link]}), flush=True)


if __name__ == "__main__":
    main()
