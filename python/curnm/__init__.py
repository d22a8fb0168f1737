"""Temporal graph networks and curriculum negative mining: data, leak-free tasks, negatives, miners
for any torch model, training and prediction. docs/python.md begins with a whole program."""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import adapters
from ._client import Client, ServerError
from ._core import PAIR_STATISTICS, PROTOCOLS, Error, __version__
from ._data import (Batch, Dataset, Events, History, LinkTask, Negatives, Neighbors,
                    average_precision, evaluate, history, load, mrr, negatives, neighbors,
                    pair_statistics, roc_auc)
from ._experiments import experiment, results

if _TYPE_CHECKING:
    from ._mining import Decoder, Links, Miner
    from ._prediction import Predictor, TopK
    from ._training import Run, train

# Loaded when first asked for, since torch takes a second.
_NEEDS_TORCH = {"Decoder": "_mining", "Links": "_mining", "Miner": "_mining",
                "Predictor": "_prediction", "TopK": "_prediction", "Run": "_training",
                "train": "_training"}


def __getattr__(name):
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module 'curnm' has no attribute {name!r}")
    found = getattr(_importlib.import_module(f".{_NEEDS_TORCH[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_NEEDS_TORCH})


__all__ = [
    "PAIR_STATISTICS", "PROTOCOLS", "Batch", "Client", "Dataset", "Decoder", "Error", "Events", "History",
    "LinkTask", "Links", "Miner", "Negatives", "Neighbors", "Predictor", "Run", "ServerError", "TopK",
    "__version__",
    "adapters", "average_precision", "evaluate", "experiment", "history", "load", "mrr", "negatives",
    "neighbors", "pair_statistics", "results", "roc_auc", "train",
]
