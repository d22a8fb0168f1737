"""Temporal graph networks and curriculum negative mining: data, leak-free tasks, negatives, miners
for any torch model, training and prediction. docs/python.md begins with a whole program."""

import os as _os

import torch as _torch  # before _core, which is linked to it  # noqa: F401

from . import adapters
from ._core import PAIR_STATISTICS, PROTOCOLS, Error, __version__
from ._core import use_one_thread as _use_one_thread
from ._client import Client, ServerError
from ._data import (Batch, Dataset, Events, History, LinkTask, Negatives, Neighbors,
                    average_precision, evaluate, history, load, mrr, negatives, neighbors,
                    pair_statistics, roc_auc)
from ._experiments import experiment, results
from ._mining import Decoder, Links, Miner
from ._prediction import Predictor, TopK
from ._training import Run, train

# The threads of OpenMP do not survive a fork: a child that waits for them waits for ever.
_os.register_at_fork(after_in_child=_use_one_thread)

__all__ = [
    "PAIR_STATISTICS", "PROTOCOLS", "Batch", "Client", "Dataset", "Decoder", "Error", "Events", "History",
    "LinkTask", "Links", "Miner", "Negatives", "Neighbors", "Predictor", "Run", "ServerError", "TopK",
    "__version__",
    "adapters", "average_precision", "evaluate", "experiment", "history", "load", "mrr", "negatives",
    "neighbors", "pair_statistics", "results", "roc_auc", "train",
]
