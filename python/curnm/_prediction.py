from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from . import _arrays
from ._arrays import ArrayLike
from ._data import Dataset, are_whole, to_ids
from ._linked import _learning


class TopK(NamedTuple):
    ids: np.ndarray  # [k], or [n,k] for several sources; -1 or None where there are fewer
    scores: np.ndarray  # logits; -inf there


class Predictor:
    """Answers questions about links from a trained model and the events so far. Nodes are called by
    their ids in the data; an answer uses what happened strictly before its time.

    >>> predictor = curnm.train("synthetic:repeat", epochs=1, walk="off", progress=False).predictor()
    >>> predictor.topk(src=7, time=2592000, k=3).ids.shape
    (3,)
    """

    def __init__(self, answers: _learning.Answers):
        self._answers = answers
        self._whole: bool | None = None  # whether all ids are whole numbers; None: not yet known

    @classmethod
    def load(cls, path: str | os.PathLike[str], data: Dataset | None = None) -> Predictor:
        """From the folder of a run, or a file that `save` or `curnm export` wrote. data: its network,
        if it is no longer where it was, or has grown."""
        network = None if data is None else data._network
        return cls(_learning.Answers.load(os.fspath(path), network))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Everything that `load` needs besides the events, in one file."""
        self._answers.save(os.fspath(file))

    @property
    def data(self) -> Dataset:
        """The events so far."""
        return Dataset._of(self._answers.network())

    def score(self, src: ArrayLike, dst: ArrayLike, time: ArrayLike,
              question: str = "pair") -> np.ndarray:
        """Logits of pairs, [n]. question: as of `curnm predict --question`."""
        sources = self._answers.find(_arrays.names(src, "src"), True)
        return self._answers.score(sources, self._answers.find(_arrays.names(dst, "dst"), False),
                                   _arrays.times(time, size=len(sources)), question)

    def explain(self, src: ArrayLike, dst: ArrayLike, time: ArrayLike,
                question: str = "pair") -> list[dict[str, Any]]:
        """Why each pair scores as it does: its `logit`, what is known of it in `words`, how often the
        two have `met` and when (`last_met`), the `typical` logit with everything that the decoder
        sees at its mean, and by how much each part has `moved` the logit (as of
        `curnm predict --explain`).

        >>> predictor = curnm.train("synthetic:repeat", epochs=1, walk="off", progress=False).predictor()
        >>> list(predictor.explain(7, 8, 2592000)[0]["moved"])
        ['ages', 'counts', 'direction', 'since', 'recent', 'pace', 'next', 'source', 'destination']
        """
        sources = self._answers.find(_arrays.names(src, "src"), True)
        return self._answers.explain(sources, self._answers.find(_arrays.names(dst, "dst"), False),
                                     _arrays.times(time, size=len(sources)), question)

    def topk(self, src: ArrayLike, time: ArrayLike, k: int = 10, exclude_seen: bool = False,
             question: str = "destination") -> TopK:
        """The k likeliest destinations of each source, best first. exclude_seen: without those that
        it has chosen before."""
        sources = self._answers.find(_arrays.names(src, "src"), True)
        nodes, scores = self._answers.topk(sources, _arrays.times(time, size=len(sources)), k,
                                           exclude_seen, question)
        ids = self._ids_of(nodes)
        if np.ndim(src) == 0:
            found = nodes[0] >= 0
            return TopK(ids[0][found], scores[0][found])
        return TopK(ids, scores)

    def append(self, src: ArrayLike, dst: ArrayLike, time: ArrayLike,
               features: ArrayLike = None) -> None:
        """Further events, after those so far; new ids are new nodes. Costs what these events cost; the
        first time also a second copy of those so far. Answers that are being computed meanwhile know
        them or not. Ctrl-C may leave the first of them appended, and `data` says how many.

        >>> predictor = curnm.train("synthetic:repeat", epochs=1, walk="off", progress=False).predictor()
        >>> predictor.append([7, "new"], [601, 601], [2592000, 2592001])
        Traceback (most recent call last):
        curnm._core.Error: node 'new': nodes of this network are the numbers 0 .. 999, new ones follow them
        >>> predictor.append([7, 1000], [601, 601], [2592000, 2592001])
        """
        sources, destinations = _arrays.names(src, "src"), _arrays.names(dst, "dst")
        self._answers.append(sources, destinations, _arrays.times(time, size=len(sources)),
                             None if features is None else _arrays.floats(features, "features"))
        if self._whole:
            self._whole = are_whole(sources) and are_whole(destinations)

    def _ids_of(self, nodes: np.ndarray) -> np.ndarray:
        """The ids of nodes; -1 or None, as they are whole numbers or texts, where there is no node."""
        if self._whole is None:
            self._whole = self.data.ids.dtype.kind == "i"
        distinct, places = np.unique(nodes.ravel(), return_inverse=True)
        missing = int(np.searchsorted(distinct, 0))  # -1 comes first
        ids = to_ids(self._answers.names(distinct[missing:]), self._whole)
        nothing = np.full(missing, -1 if self._whole else None, dtype=ids.dtype)
        return np.concatenate([nothing, ids])[places].reshape(nodes.shape)
