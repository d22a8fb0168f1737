#!/usr/bin/env python3
"""Sends the last part of a network through a server, event by event, and asks before some of them
where they will go. The mean reciprocal rank must be that of `curnm eval` on exactly these events.

  tests/serving/replay.py CURNM TABLE.csv WORK --train "--model light --walk off --epochs 3"

TABLE.csv (src,dst,time, in time order) is cut in two: a model is trained on the first part (once:
WORK/run is used again), the rest is sent. Questions rank the true destination among all that there
have been, in windows of time in which no node is born: a server cannot be asked about names that it has
not heard. Besides, some answers are compared with `curnm predict` on the same events, to the bit.

A model with a memory (--memory) is asked another thing by `eval`: there a batch of events is
predicted from the memory before that batch, here from all events before. The difference is printed.
"""

import argparse
import csv
import json
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time

from server import Client, Server


def run(*words):
    ended = subprocess.run([str(word) for word in words], text=True, capture_output=True)
    if ended.returncode:
        raise SystemExit(f"{words}: {ended.stderr}")
    return ended.stdout


def write(path, rows):
    with open(path, "w") as file:
        file.write("src,dst,time\n")
        file.writelines(f"{row['src']},{row['dst']},{row['time']}\n" for row in rows)


def find_windows(rows, first, questions):
    """The longest stretches of whole times in which no node is born, until they have so many events."""
    known = {row[end] for row in rows[:first] for end in ("src", "dst")}
    stretches, begin = [], first
    for i in range(first, len(rows)):
        if rows[i]["src"] not in known or rows[i]["dst"] not in known:
            known |= {rows[i]["src"], rows[i]["dst"]}
            stretches.append((begin, i))
            begin = i + 1
    windows = []
    for begin, end in stretches:
        while begin < end and rows[begin]["time"] == rows[begin - 1]["time"]:
            begin += 1
        while begin < end and rows[end]["time"] == rows[end - 1]["time"]:
            end -= 1
        if begin < end:
            windows.append((begin, end))
    windows.sort(key=lambda window: window[0] - window[1])
    chosen = []
    while windows and sum(end - begin for begin, end in chosen) < questions:
        chosen.append(windows.pop(0))
    return sorted(chosen)


def reciprocal_rank(logits):
    """Of the first among the others; ties count half, as everywhere."""
    higher = sum(x > logits[0] for x in logits[1:])
    equal = sum(x == logits[0] for x in logits[1:])
    return 1 / (1 + higher + 0.5 * equal)


def ask(client, rows, e, destinations, pairs_of):
    """The logits of the true destination of event e and of all others that u does not meet then."""
    row = rows[e]
    others = [v for v in destinations if (v, row["time"]) not in pairs_of[row["src"]]]
    answer = client.score([(row["src"], v) for v in [row["dst"], *others]],
                          time=float(row["time"]), question=arguments.question)
    if answer["unknown"]:
        raise SystemExit(f"event {e}: {answer['unknown']} destinations are not known")
    return others, [score["logit"] for score in answer["scores"]]


def differences_from_predict(model, whole, samples):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "pairs.csv"
        write(table, [{"src": src, "dst": dst, "time": at}
                      for src, at, nodes, _ in samples for dst in nodes])
        question = ["--question", arguments.question] if arguments.question else []
        found = json.loads(run(arguments.curnm, "predict", model, "--data", whole, "--pairs", table,
                               *question, "--json"))
    logits = [logit for *_, logits in samples for logit in logits]
    return sum(answer["logit"] != logit for answer, logit in zip(found, logits, strict=True))


def main():
    work = pathlib.Path(arguments.work)
    work.mkdir(exist_ok=True, parents=True)
    with open(arguments.table) as file:
        rows = list(csv.DictReader(file))
    first = int(len(rows) * arguments.share)
    while rows[first]["time"] == rows[first - 1]["time"]:
        first -= 1
    base, whole, model = work / "base", work / "whole", work / "run"
    for folder, part in ((base, rows[:first]), (whole, rows)):
        if not folder.exists():
            write(work / "table.csv", part)
            run(arguments.curnm, "import", work / "table.csv", "--out", folder)
    if not model.exists():
        run(arguments.curnm, "train", base, *shlex.split(arguments.train), "--out", model)
    windows = find_windows(rows, first, arguments.questions)
    destinations = sorted({row["dst"] for row in rows[:first]})
    known = set(destinations)
    pairs_of = {}
    for row in rows:
        pairs_of.setdefault(row["src"], set()).add((row["dst"], row["time"]))

    shutil.rmtree(work / "state", ignore_errors=True)
    begin, sent, asked, samples, through_http = time.monotonic(), first, 0, [], []
    total = sum(stop - start for start, stop in windows)
    with (Server(arguments.curnm, model, base, work / "state") as server,
          Client(server.url, timeout=600) as client):
        def send(until):
            nonlocal sent
            while sent < until:
                part = rows[sent:min(until, sent + 1000)]
                client.events([row | {"time": float(row["time"])} for row in part])
                for row in part:
                    if row["dst"] not in known:
                        known.add(row["dst"])
                        destinations.append(row["dst"])
                sent += len(part)

        rows = [{key: row[key] for key in ("src", "dst", "time")} for row in rows]
        for start, stop in windows:
            reciprocal = 0.0
            for e in range(start, stop):
                send(e)
                others, logits = ask(client, rows, e, destinations, pairs_of)
                reciprocal += reciprocal_rank(logits)
                asked += 1
                if asked % max(1, total // arguments.samples) == 0:
                    samples.append((rows[e]["src"], rows[e]["time"], [rows[e]["dst"], *others],
                                    logits))
            through_http.append(reciprocal / (stop - start))
        send(len(rows))
        events = client.health()["events"]
        seconds = time.monotonic() - begin
        code = server.stop()
    if code != 0 or events != len(rows):
        raise SystemExit(f"the server has {events} of {len(rows)} events")

    by_eval = []
    for start, stop in windows:
        result = json.loads(run(
            arguments.curnm, "eval", model, "--data", whole, "--from", rows[start]["time"], "--to",
            rows[stop]["time"], "--periods", "1", "--rank-among", len(known), "--json"))
        tested = result["periods"][0]
        if tested["events"] != stop - start:
            raise SystemExit(f"eval tested {tested['events']} events, {stop - start} were asked")
        by_eval.append(tested["test"]["mrr"]["mrr"])
    weights = [stop - start for start, stop in windows]
    means = [sum(m * w for m, w in zip(all_of, weights)) / total
             for all_of in (through_http, by_eval)]
    different = differences_from_predict(model, whole, samples)
    print(f"{events - first} events sent, {total} questions in {len(windows)} windows, "
          f"{seconds:.0f} s")
    for (start, stop), of_http, of_eval in zip(windows, through_http, by_eval):
        if of_http != of_eval:
            print(f"events {start} to {stop - 1}: {of_http!r} through HTTP, {of_eval!r} by eval")
    print(f"MRR is the same in {sum(map(float.__eq__, through_http, by_eval))} windows")
    print(f"MRR {means[0]!r} through HTTP, {means[1]!r} by eval")
    print(f"{different} of {sum(len(s[2]) for s in samples)} logits of {len(samples)} questions differ "
          "from predict")
    equal = through_http == by_eval
    raise SystemExit(1 if different or not (equal or arguments.memory) else 0)


parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
for name in ("curnm", "table", "work"):
    parser.add_argument(name)
parser.add_argument("--train", default="--walk off --epochs 3", help="options of `curnm train`")
parser.add_argument("--share", type=float, default=0.85, help="of the events to train on")
parser.add_argument("--questions", type=int, default=2000)
parser.add_argument("--question", default="destination",
                    help="the output that answers; empty for a model with one score")
parser.add_argument("--samples", type=int, default=20, help="questions compared with predict")
parser.add_argument("--memory", action="store_true", help="eval may differ: the model has a memory")
arguments = parser.parse_args()
arguments.question = arguments.question or None
main()
