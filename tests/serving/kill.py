#!/usr/bin/env python3
"""Kills a server at random instants under load, and checks what it has when it is back. Every other
kill comes while a snapshot is written or the log behind it is truncated.

  tests/serving/kill.py CURNM MODEL DATA EVENTS.csv --kills 200

Acknowledged events must all be there, and answers must equal those of `curnm predict` on the same
events, to the bit. EVENTS.csv (src,dst,time) come after DATA, in time order; DATA.csv is what DATA
was imported from. Exit code 1 if anything is lost or differs.
"""

import argparse
import csv
import http.client
import json
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time

from server import Client, Server


def load(url, events, acknowledged):
    """Tells events from where the server is, in requests of any size, until it is killed."""
    try:
        with Client(url, retries=0) as client:
            at = client.health()["appended"]
            while at < len(events):
                count = random.choice([1, 1, 7, 100, 1000])
                answer = client.events(events[at:at + count])
                at += answer["accepted"]
                acknowledged[0] = max(acknowledged[0], at)
    except (OSError, http.client.HTTPException):
        pass


def predicted(arguments, events, sources, at):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "grown.csv"
        with open(arguments.table) as base, open(table, "w") as out:
            header = base.readline().strip().split(",")
            out.write(",".join(header) + "\n")
            for line in base:
                out.write(line)
            for event in events:
                values = {"src": event["src"], "dst": event["dst"], "time": repr(event["time"])}
                out.write(",".join(values.get(name, "0") for name in header) + "\n")
        grown = os.path.join(folder, "grown")
        subprocess.run([arguments.curnm, "import", table, "--out", grown], check=True,
                       capture_output=True)
        answers = {}
        for src in sources:
            found = subprocess.run(
                [arguments.curnm, "predict", arguments.model, "--data", grown, "--src", src,
                 "--time", repr(at), "--topk", "10", "--json"], check=True, capture_output=True)
            answers[src] = [(a["dst"], a["logit"]) for a in json.loads(found.stdout)]
        return answers


def is_saving(state):
    """Between the beginning of a snapshot and the end of the truncation after it."""
    return len(list(pathlib.Path(state).glob("events-*.log"))) > 1


def wait(state, for_snapshot, most_seconds):
    """Until a random instant, or one after a snapshot has begun."""
    end = time.monotonic() + 20
    while for_snapshot and not is_saving(state) and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.1 if for_snapshot else most_seconds))


class Round:
    """One log from its beginning to its check."""

    def __init__(self):
        self.acknowledged = [0]
        self.lost = self.different = self.saving = 0
        self.starts = []

    def run(self, arguments, events, sources, kills):
        with tempfile.TemporaryDirectory() as state:
            for kill in range(kills):
                with Server(arguments.curnm, arguments.model, arguments.data, state,
                            "--snapshot-megabytes", "1") as server:
                    self.starts.append(server.start_seconds)
                    self.count_lost(server)
                    teller = threading.Thread(target=load,
                                              args=(server.url, events, self.acknowledged))
                    teller.start()
                    wait(state, kill % 2 == 1, arguments.most_seconds)
                    server.kill()
                    teller.join()
                    self.saving += is_saving(state)
            with Server(arguments.curnm, arguments.model, arguments.data, state) as server:
                told = events[:self.count_lost(server)]
                with Client(server.url) as client:
                    answers = {src: client.topk(src) for src in sources}
                if server.stop() != 0:
                    raise SystemExit("the server did not end well")
        expected = predicted(arguments, told, sources, answers[sources[0]]["time"])
        self.different = sum(
            [(a["dst"], a["logit"]) for a in answers[src]["answers"]] != expected[src]
            for src in sources)

    def count_lost(self, server):
        with Client(server.url) as client:
            there = client.health()["appended"]
        self.lost += max(0, self.acknowledged[0] - there)
        return there


def main():
    parser = argparse.ArgumentParser()
    for name in ("curnm", "model", "data", "events"):
        parser.add_argument(name)
    parser.add_argument("--table", required=True, help="the table that DATA was imported from")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--round", type=int, default=20, help="kills of one log")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=0.5, help="between start and kill")
    parser.add_argument("--sources", default="", help="names to ask for, by commas")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with open(arguments.events) as file:
        events = [{"src": row["src"], "dst": row["dst"], "time": float(row["time"])}
                  for row in csv.DictReader(file)]
    sources = arguments.sources.split(",") if arguments.sources else [events[0]["src"]]
    rounds = []
    for done in range(0, arguments.kills, arguments.round):
        rounds.append(Round())
        rounds[-1].run(arguments, events, sources, min(arguments.round, arguments.kills - done))
        total = {name: sum(getattr(one, name) for one in rounds)
                 for name in ("lost", "different", "saving")}
        starts = sorted(start for one in rounds for start in one.starts)
        print(f"{len(starts)} kills ({total['saving']} during a snapshot or truncation), "
              f"{sum(one.acknowledged[0] for one in rounds)} events acknowledged, {total['lost']} "
              f"lost, {total['different']} of {len(rounds) * len(sources)} answers differ from "
              f"predict, start {starts[len(starts) // 2]:.2f} s (median) {starts[-1]:.2f} s (longest)",
              flush=True)
    raise SystemExit(1 if total["lost"] or total["different"] else 0)


if __name__ == "__main__":
    main()
