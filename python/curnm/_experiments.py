"""Experiments are run by the program `curnm`, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from . import _arrays
from ._arrays import Value
from ._core import Error


def _program() -> str:
    program = os.environ.get("CURNM_PROGRAM") or shutil.which("curnm")
    if program is None:
        raise Error("the program curnm is not on the PATH: experiments are run by it "
                    "(CURNM_PROGRAM says where it is)")
    return program


def _call(words: list[str], capture: bool) -> str:
    ended = subprocess.run([_program(), *words], text=True, check=False,
                           stdout=subprocess.PIPE if capture else None,
                           stderr=subprocess.PIPE if capture else None)
    if ended.returncode != 0:
        reason = (ended.stderr or "").strip() or f"exit code {ended.returncode}"
        raise Error(f"curnm {words[0]}: {reason}")
    return ended.stdout or ""


def results(store: str | os.PathLike[str]) -> Any:
    """Every run of a store: network, model, miner, seed, state, options and scores, a row each. A
    pandas frame with flat columns (scores.test.trans.ap), or a list of dictionaries without pandas."""
    rows = json.loads(_call(["results", os.fspath(store), "--format", "json"], True))
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.json_normalize(rows)


def experiment(file: str | os.PathLike[str], store: str | os.PathLike[str],
               **options: Value) -> Any:
    """Runs what is missing of an experiment (docs/experiments.md) and returns `results(store)`.
    Options as in `curnm experiment --help`: jobs=2."""
    words = ["experiment", os.fspath(file), "--store", os.fspath(store)]
    for name, value in _arrays.options(options).items():
        words += [f"--{name}", value]
    _call(words, False)
    return results(store)
