"""Whatever is passed to what is bound, the answer is a value or an exception: never a crash. Runs in a
process of its own, which a crash ends without ending the tests."""

import os
import subprocess
import sys

CALLS = int(os.environ.get("CURNM_FUZZ_CALLS", "4000"))


def test_no_call_crashes(tmp_path):
    ended = subprocess.run([sys.executable, __file__, str(CALLS)], text=True, capture_output=True,
                           cwd=tmp_path, timeout=900)
    assert ended.returncode == 0, ended.stdout[-500:] + ended.stderr[-2000:]
    print(ended.stdout.splitlines()[-1])


def main(calls):
    import faulthandler
    import inspect
    import random
    import warnings

    import curnm
    import numpy as np
    import torch
    from curnm import _core, _learning

    faulthandler.enable()  # prints the call that crashes
    warnings.simplefilter("ignore")
    draw = random.Random(int(os.environ.get("CURNM_FUZZ_SEED", "0")))
    data = curnm.Dataset(np.arange(600) % 11, 11 + np.arange(600) % 7, np.arange(600.0),
                         edge_features=np.ones((600, 2), dtype=np.float32))
    task = curnm.LinkTask(data)
    miner = curnm.Miner("curnm", task, 4, 2)
    run = curnm.train(data, epochs=1, walk="off", progress=False)
    links = miner.propose(next(task.batches()))
    objects = [data, task, miner, curnm.Decoder("pair", task, 4), links, run, run.predictor(),
               next(task.batches()), task.test, data._network, task._task, miner._miner,
               links._proposal, next(task.batches())._batch, run._run, run.predictor()._answers]
    values = [
        None, True, -1, 0, 1, 3, 2**31, 2**63, 2**70, -0.0, 1e308, float("nan"), float("inf"), "", "x",
        "random", "trans", "curnm", "pair", "test", "validation", "\0", "\ud800", b"bytes", [], [0],
        [-1], [2**63 - 1], ["a"], [None], [[0, 1], [2]], {}, {"pool": "8"}, {"a": 1}, object(), int,
        lambda *_: None, lambda *_: torch.zeros(3), np.zeros(0, dtype=np.int64),
        np.array([0, 1, 2]), np.array([-5, 2**40]), np.array([0.0, np.nan]), np.zeros((2, 3)),
        np.arange(12, dtype=np.int64)[::3], np.array(["u", "v"]), np.array(None), np.float32(1),
        np.zeros(3, dtype=np.float32), np.zeros((3, 2), dtype=np.float32), np.array([1.0, 2.0, 3.0]),
        torch.zeros(0), torch.zeros(3, 4), torch.zeros(len(links.nodes), 4, requires_grad=True),
        torch.zeros(3, device="meta"), torch.sparse_coo_tensor((2, 2)), torch.tensor(5), *objects,
    ]
    numbers = [value for value in values if isinstance(value, np.ndarray)]
    fitting = {  # by the names of parameters, so that calls get past the first check
        "data": [data], "task": [task], "links": [links], "batch": [next(task.batches())],
        "src": numbers, "dst": numbers, "nodes": numbers, "time": numbers, "times": numbers,
        "embeddings": [torch.zeros(len(links.nodes), 4, requires_grad=True), torch.ones(3, 4)],
        "decoder": [objects[3], lambda u, v: (u * v).sum(1), lambda u, v: u], "events": [task.test],
        "score": [lambda s, d, t: s, lambda s, d, t: s[:2]], "width": [4], "epochs": [1, 2],
        "protocol": ["random", "trans"], "positives": numbers, "negatives": numbers, "k": [1, 5],
        "model": [lambda n, t: torch.zeros(len(n), 4), lambda n, t: n], "name": ["curnm", "pair"],
    }
    # Neither what writes files or runs programs, nor what takes seconds by design.
    skipped = {"save", "experiment", "results", "train", "use_one_thread"}
    public = [(name, getattr(curnm, name)) for name in dir(curnm)]
    targets = [(name, value, None)
               for name, value in [*public, *vars(_core).items(), *vars(_learning).items()]
               if callable(value) and name not in skipped and not name.startswith("_")]
    for thing in objects:
        for name, value in inspect.getmembers(type(thing)):
            if isinstance(value, property):
                targets.append((name, value.fget, None))
            elif callable(value) and name not in skipped and (name == "__len__" or name[0] != "_"):
                targets.append((name, value, thing))

    def arguments_of(function, thing):
        chosen = [] if thing is None else [thing]
        if not inspect.isfunction(function) and not inspect.isclass(function):
            return chosen + [draw.choice(values) for _ in range(draw.randint(0, 6))]
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError:
            parameters = []
        for parameter in parameters[len(chosen):]:
            if parameter.kind == parameter.VAR_KEYWORD or draw.random() < 0.05:
                break
            pool = fitting.get(parameter.name, values) if draw.random() < 0.8 else values
            chosen.append(draw.choice(pool))
        return chosen

    raised = 0
    for _ in range(calls):
        _, function, thing = draw.choice(targets)
        try:
            function(*arguments_of(function, thing))
        except Exception:  # noqa: BLE001
            raised += 1
    print(f"{calls} calls of {len(targets)} functions, {raised} exceptions, no crash")


if __name__ == "__main__":
    main(int(sys.argv[1]))
