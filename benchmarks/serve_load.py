#!/usr/bin/env python3
"""Load on a running server: events come in at a rate while questions are asked at another.

  benchmarks/serve_load.py URL EVENTS.csv --seconds 30 --events-rate 1000 --ask-rate 100
  benchmarks/serve_load.py URL EVENTS.csv --fill 100        durable events/s, 100 per request

EVENTS.csv (src,dst,time) come after what the server has; times go on growing when the file ends.
Latencies are measured from the instant at which a request was due, so that a server that is late
does not look better than it is.
"""

import argparse
import csv
import importlib.util
import pathlib
import random
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("client", HERE / "../python/curnm/_client.py")
client_module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client_module)
Client = client_module.Client


def stream(rows, newest):
    """The events of the file, again and again, later each time."""
    shift = max(0.0, newest - float(rows[0]["time"]))
    while True:
        for row in rows:
            yield {"src": row["src"], "dst": row["dst"], "time": float(row["time"]) + shift}
        shift += float(rows[-1]["time"]) - float(rows[0]["time"]) + 1


def take(events, count):
    return [next(events) for _ in range(count)]


def tell(url, events, rate, per_request, end, counts):
    with Client(url) as client:
        due = time.monotonic()
        while time.monotonic() < end:
            client.events(take(events, per_request))
            counts[0] += per_request
            due += per_request / rate
            time.sleep(max(0, due - time.monotonic()))


def known(client, names):
    """Those of the names that the server has: others would be refused, which costs nothing."""
    found = []
    for name in names:
        try:
            client.node(name)
            found.append(name)
        except client_module.ServerError:
            pass
    return found


def resident(client):
    """Megabytes of memory that the server has."""
    for line in client.metrics().splitlines():
        if line.startswith("curnm_resident_bytes "):
            return float(line.split()[1]) / 1e6
    return 0.0


def ask(url, sources, rate, end, latencies):
    with Client(url) as client:
        due = time.monotonic() + random.random() / rate
        while due < end:
            time.sleep(max(0, due - time.monotonic()))
            client.topk(random.choice(sources), k=10)
            latencies.append(time.monotonic() - due)
            due += 1 / rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("events")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--events-rate", type=float, default=1000)
    parser.add_argument("--per-request", type=int, default=20)
    parser.add_argument("--ask-rate", type=float, default=100)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--fill", type=int, default=0)
    arguments = parser.parse_args()
    with open(arguments.events) as file:
        rows = list(csv.DictReader(file))
    with Client(arguments.url) as client:
        events = stream(rows, client.health()["newest"])
        memory = resident(client)
        if arguments.fill:
            ready = [take(events, arguments.fill)
                     for _ in range(int(arguments.seconds * 20000 / arguments.fill))]
            begin = time.monotonic()
            done = 0
            for one in ready:
                client.events(one)
                done += len(one)
                if time.monotonic() - begin > arguments.seconds:
                    break
            print(f"{arguments.fill} per request, one client: "
                  f"{done / (time.monotonic() - begin):.0f} events/s; "
                  f"memory {memory:.0f} MB, after {done} events {resident(client):.0f} MB")
            return
        sources = known(client, sorted({row["src"] for row in rows}))
    end = time.monotonic() + arguments.seconds
    counts, latencies = [0], []
    threads = [threading.Thread(target=tell, args=(arguments.url, events, arguments.events_rate,
                                                   arguments.per_request, end, counts))]
    for _ in range(arguments.clients):
        threads.append(threading.Thread(
            target=ask, args=(arguments.url, sources, arguments.ask_rate / arguments.clients, end,
                              latencies)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    latencies.sort()
    at = lambda share: 1000 * latencies[min(len(latencies) - 1, int(share * len(latencies)))]
    print(f"{counts[0] / arguments.seconds:.0f} events/s, {len(latencies) / arguments.seconds:.0f} "
          f"questions/s: p50 {at(.5):.1f} ms, p99 {at(.99):.1f} ms, most {1000 * latencies[-1]:.1f} ms")
    with Client(arguments.url) as client:
        print(f"memory {memory:.0f} MB, after {counts[0]} events {resident(client):.0f} MB")


if __name__ == "__main__":
    main()
