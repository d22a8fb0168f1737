from __future__ import annotations

import html
import os
import sys
from typing import Any

from . import _arrays
from ._arrays import Value
from ._data import Dataset, load
from ._linked import _learning
from ._prediction import Predictor


class Run:
    """A training that has ended. In a notebook it shows its learning curve and its test."""

    def __init__(self, run: _learning.Run):
        self._run = run
        self.result: dict[str, Any] = run.result()
        self.options: dict[str, Any] = run.options()

    @property
    def test(self) -> dict[str, Any]:
        """The figures of the test by protocol: run.test["trans"]["ap"]."""
        return self.result["test"]

    @property
    def best_epoch(self) -> int:
        return self.result["best_epoch"]

    @property
    def metrics(self) -> Any:
        """A row for each epoch: a pandas frame, or a list of dictionaries without pandas."""
        rows = [_flat(record) for record in self._run.records()]
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows).set_index("epoch")

    def predictor(self) -> Predictor:
        """The best weights, with all events so far."""
        return Predictor(self._run.answers())

    def __repr__(self) -> str:
        return (f"<curnm.Run {self.result['model']} on {self.result['data']}: best epoch "
                f"{self.best_epoch} of {self.result['epochs']}>")

    def _repr_html_(self) -> str:
        curve = [record["validation_ap"] for record in self._run.records()]
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{figures['ap']:.4f}</td>"
            f"<td>{figures['auc']:.4f}</td></tr>"
            for name, figures in self.test.items() if isinstance(figures, dict) and "ap" in figures)
        return (f"<p>{html.escape(repr(self)[1:-1])}</p>{_curve_svg(curve)}"
                f"<table><tr><th>test</th><th>AP</th><th>AUC</th></tr>{rows}</table>")


def _flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"losses": {"random": 1}} becomes {"losses.random": 1}."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _curve_svg(values: list[float]) -> str:
    width, height, low, high = 320, 120, min(values), max(values)
    points = " ".join(
        f"{10 + (width - 20) * i / max(len(values) - 1, 1):.1f},"
        f"{height - 20 - (height - 40) * (value - low) / ((high - low) or 1):.1f}"
        for i, value in enumerate(values))
    return (f'<svg width="{width}" height="{height}" role="img">'
            f"<title>validation AP by epoch</title>"
            f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"/>'
            f'<text x="10" y="14" font-size="11">validation AP {low:.3f} to {high:.3f}</text></svg>')


def train(data: Dataset | str, model: str = "light", miner: str = "curnm", epochs: int = 20,
          out: str | os.PathLike[str] | None = None, progress: bool = True,
          **options: Value) -> Run:
    """Trains a model of the library and tests it: `curnm train` with the same options gives the same
    bits. Options as in `curnm train --help`: decoder="additive", seed=1, learning_rate=1e-3.

    out: a folder for the run, which every command of the program takes. Ctrl-C ends a training; with
    a folder, `curnm train --resume` goes on with it.

    >>> run = curnm.train("synthetic:repeat", epochs=2, walk="off", progress=False)
    >>> sorted(run.test["trans"])
    ['ap', 'ap_global', 'auc', 'auc_global']
    """
    if not isinstance(data, Dataset):
        data = load(data)

    def say(text: str) -> None:
        if progress:
            print(text, file=sys.stderr, flush=True)

    def on_epoch(record: dict[str, Any]) -> None:
        say(f"epoch {record['epoch']:>3}  validation AP {record['validation_ap']:.4f}"
            f"{'*' if record['best'] else ' '}  {record['seconds']:.1f} s")

    given = _arrays.options({"model": model, "miner": miner, "epochs": epochs, **options})
    return Run(_learning.train(data._network, given, None if out is None else os.fspath(out), on_epoch,
                           lambda note: say(f"note: {note}")))
