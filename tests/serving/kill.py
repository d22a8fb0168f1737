#!/usr/bin/env python3
"""Kills a server at random instants under load, and checks what it has when it is back.

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
                count = random.choice([1, 1, 7, 100])
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


def main():
    parser = argparse.ArgumentParser()
    for name in ("curnm", "model", "data", "events"):
        parser.add_argument(name)
    parser.add_argument("--table", required=True, help="the table that DATA was imported from")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=0.5, help="between start and kill")
    parser.add_argument("--sources", default="", help="names to ask for, by commas")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with open(arguments.events) as file:
        events = [{"src": row["src"], "dst": row["dst"], "time": float(row["time"])}
                  for row in csv.DictReader(file)]
    sources = arguments.sources.split(",") if arguments.sources else [events[0]["src"]]
    acknowledged = [0]
    lost = 0
    starts = []
    with tempfile.TemporaryDirectory() as state:
        for _ in range(arguments.kills):
            server = Server(arguments.curnm, arguments.model, arguments.data, state,
                            "--snapshot-megabytes", "1")
            starts.append(server.start_seconds)
            with Client(server.url) as client:
                lost += max(0, acknowledged[0] - client.health()["appended"])
            teller = threading.Thread(target=load, args=(server.url, events, acknowledged))
            teller.start()
            time.sleep(random.uniform(0, arguments.most_seconds))
            server.kill()
            teller.join()
        server = Server(arguments.curnm, arguments.model, arguments.data, state)
        with Client(server.url) as client:
            health = client.health()
            lost += max(0, acknowledged[0] - health["appended"])
            answers = {src: client.topk(src) for src in sources}
            told = events[:health["appended"]]
        at = answers[sources[0]]["time"]
        expected = predicted(arguments, told, sources, at)
        code = server.stop()
    different = sum([(a["dst"], a["logit"]) for a in answers[src]["answers"]] != expected[src]
                    for src in sources)
    starts.sort()
    print(f"{arguments.kills} kills, {acknowledged[0]} events acknowledged, {lost} lost, "
          f"{different} of {len(sources)} answers differ from predict, start "
          f"{starts[len(starts) // 2]:.2f} s (median) {starts[-1]:.2f} s (longest), "
          f"exit code at the end {code}")
    raise SystemExit(1 if lost or different or code else 0)


if __name__ == "__main__":
    main()
