"""Our negatives in the shape that other libraries expect. Neither of them is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _core
from ._arrays import ArrayLike
from ._data import LinkTask

if TYPE_CHECKING:
    from ._mining import Links, Miner


class NegativeEdgeSampler:
    """In place of DyGLib's class of that name: the negatives of a protocol, drawn from exact histories.

    training: only training events are known, as for DyGLib's sampler of the training. DyGLib's
    preprocessed files number nodes from 1, 0 being padding: `offset`.

    >>> sampler = curnm.adapters.NegativeEdgeSampler(task, "historical", offset=0)
    >>> src, dst = sampler.sample(2, [0, 1], [700, 701], 1e6, 1e6)
    >>> len(src), len(dst)
    (2, 2)
    """

    def __init__(self, task: LinkTask, protocol: str = "random", seed: int | None = None,
                 training: bool = False, offset: int = 1):
        self.seed = seed
        self.offset = offset
        self._protocol = protocol
        self._sampler = _core.PairSampler(task._task, training)
        self.reset_random_state()

    def sample(self, size: int, batch_src_node_ids: ArrayLike = None,
               batch_dst_node_ids: ArrayLike = None, current_batch_start_time: float = 0.0,
               current_batch_end_time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Sources and destinations of `size` pairs, one for each event of the batch."""
        src = _arrays.nodes(batch_src_node_ids, "batch_src_node_ids")[:size] - self.offset
        dst = _arrays.nodes(batch_dst_node_ids, "batch_dst_node_ids")[:size] - self.offset
        key = (self.seed or 0) * 1_000_003 + self._batches
        self._batches += 1
        src, dst = self._sampler.draw(self._protocol, src, dst, float(current_batch_start_time),
                                      float(current_batch_end_time), key)
        return src + self.offset, dst + self.offset

    def reset_random_state(self) -> None:
        """The same draws again, as before each evaluation."""
        self._batches = 0


class MinerHook:
    """A hook in the manner of TGM: takes the events of a batch, adds negatives to it.

    A batch needs `curnm_batch` (one of task.batches); it gets `links` and `neg`, the destinations of
    the candidates [B,M] where the miner has as many for each positive.

    >>> hook = curnm.adapters.MinerHook(curnm.Miner("random", task, width=8, epochs=1))
    >>> sorted(hook.produces)
    ['links', 'neg']
    """

    requires = {"curnm_batch"}
    produces = {"links", "neg"}

    def __init__(self, miner: Miner):
        self._miner = miner

    def __call__(self, graph: Any, batch: Any) -> Any:
        links: Links = self._miner.propose(batch.curnm_batch)
        batch.links = links
        rows = links.num_positives
        batch.neg = links.dst[rows:rows + links.num_candidates].reshape(rows, -1)
        return batch
