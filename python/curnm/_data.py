from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np

from . import _arrays, _core
from ._arrays import ArrayLike, Value
from ._core import Error

if TYPE_CHECKING:
    import torch


class Dataset:
    """A temporal network: events (src, dst, time) in the order in which they happened.

    src, dst: numbers of nodes, 0 .. N-1, or names (texts), which are numbered as they appear.
    time: never decreasing. edge_features: [E,F], node_features: [N,F].

    >>> data = curnm.Dataset([0, 1, 0], [2, 2, 3], [1.0, 2.0, 5.0])
    >>> len(data), data.num_nodes
    (3, 4)
    """

    def __init__(self, src: ArrayLike, dst: ArrayLike, time: ArrayLike,
                 edge_features: ArrayLike = None, node_features: ArrayLike = None, *,
                 num_nodes: int | None = None, name: str = "arrays"):
        ids = None
        if not (_arrays.is_integer(src, "src") and _arrays.is_integer(dst, "dst")):
            src, dst, ids = _number(_arrays.names(src, "src"), _arrays.names(dst, "dst"))
        src, dst = _arrays.nodes(src, "src"), _arrays.nodes(dst, "dst")
        if num_nodes is None:
            num_nodes = len(ids) if ids is not None else _count_nodes(src, dst, node_features)
        self._network = _core.Network(
            src, dst, _arrays.times(time), num_nodes,
            None if edge_features is None else _arrays.floats(edge_features, "edge_features"),
            None if node_features is None else _arrays.floats(node_features, "node_features"),
            ids, name)

    @classmethod
    def _of(cls, network: _core.Network) -> Dataset:
        dataset = cls.__new__(cls)
        dataset._network = network
        return dataset

    def __len__(self) -> int:
        return self._network.num_events

    def __repr__(self) -> str:
        return f"<curnm.Dataset {self.name}: {len(self)} events of {self.num_nodes} nodes>"

    name = property(lambda self: self._network.name, doc="What the network is called in tables.")
    notes = property(lambda self: self._network.notes, doc="Remarks about how it was read.")
    num_nodes = property(lambda self: self._network.num_nodes, doc="N.")
    src = property(lambda self: self._network.src, doc="[E], int64.")
    dst = property(lambda self: self._network.dst, doc="[E], int64.")
    time = property(lambda self: self._network.time, doc="[E], float64; a view, not to be written.")
    edge_features = property(lambda self: self._network.edge_features,
                             doc="[E,F], float32, a view; None where there are none.")
    node_features = property(lambda self: self._network.node_features, doc="[N,F]; as above.")

    @property
    def ids(self) -> np.ndarray:
        """[N]: the id of each node in the file it was read from: whole numbers where all are."""
        names = self._network.names()
        return np.arange(self.num_nodes) if names is None else to_ids(names, are_whole(names))

    def digest(self) -> str:
        """Identifies the content, whatever file it came from."""
        return self._network.digest()

    def save(self, folder: str | os.PathLike[str], force: bool = False) -> None:
        """Writes the folder that `curnm import` writes; `load` maps it in no time."""
        self._network.save(os.fspath(folder), force)


def are_whole(names: list[str]) -> bool:
    """Whether all of them are whole numbers of 64 bits, written as Python writes them."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return False
    return [str(number) for number in numbers] == names and all(
        -2**63 <= number < 2**63 for number in numbers)


def to_ids(names: list[str], whole: bool) -> np.ndarray:
    return np.array([int(name) for name in names] if whole else names,
                    dtype=np.int64 if whole else object)


def _number(src: list[str], dst: list[str]) -> tuple[list[int], list[int], list[str]]:
    numbers: dict[str, int] = {}
    pairs = [(numbers.setdefault(u, len(numbers)), numbers.setdefault(v, len(numbers)))
             for u, v in zip(src, dst)]
    if len(src) != len(dst):
        raise Error(f"the columns differ in length: {len(src)} sources, {len(dst)} destinations")
    return [u for u, _ in pairs], [v for _, v in pairs], list(numbers)


def _count_nodes(src: np.ndarray, dst: np.ndarray, node_features: ArrayLike) -> int:
    most = max(src.max(initial=-1), dst.max(initial=-1)) + 1
    if node_features is not None:
        most = max(most, np.shape(node_features)[0])
    if most > 1_000_000 + 16 * len(src):
        raise Error(f"a node has number {most - 1} in a network of {len(src)} events: nodes are "
                    "numbered from 0 without gaps; give ids of another kind as texts")
    return int(most)


def load(data: Any, **options: Value) -> Dataset:
    """A network from what every command takes as DATA: a folder that `curnm import` wrote, a table or
    folder in any known format, `synthetic[:preset]`; also a pandas frame, or a Parquet file where pandas
    can read one (it needs pyarrow or fastparquet, which Debian 12 does not have).

    Options are those of reading, as in `curnm import --help`: src_column="from", empty="drop".

    >>> len(curnm.load("synthetic:repeat"))
    20000
    """
    if hasattr(data, "to_csv"):
        return _load_frame(data, options)
    path = os.fspath(data)
    if path.endswith((".parquet", ".pq")):
        import pandas

        return _load_frame(pandas.read_parquet(path), options)
    return Dataset._of(_core.Network.load(path, _arrays.options(options)))


def _load_frame(frame: Any, options: dict[str, Value]) -> Dataset:
    # As a table: names of columns, dates, words and empty cells mean the same wherever they are.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.csv")
        frame.to_csv(path, index=False)
        return Dataset._of(_core.Network.load(path, _arrays.options(options)))


def _tensor(array: np.ndarray) -> torch.Tensor:
    import torch

    return torch.from_numpy(array)


class Events:
    """Events of a part of a task as tensors: src and dst [n] int64, time [n] float64, events [n],
    their numbers in the whole network."""

    def __init__(self, task: LinkTask, part: str):
        self._task = task
        self.part = part
        src, dst, time, events = task._task.events(part)
        self.src = _tensor(src)
        self.dst = _tensor(dst)
        self.time = _tensor(time)
        self.events = _tensor(events)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return f"<curnm.Events {self.part}: {len(self)}>"


class Batch:
    """Training events of an epoch in time order: src, dst, time, as of Events."""

    def __init__(self, batch: _core.Batch):
        self._batch = batch
        self.src = _tensor(batch.src)
        self.dst = _tensor(batch.dst)
        self.time = _tensor(batch.time)
        self.epoch = batch.epoch

    @property
    def events(self) -> torch.Tensor:
        """Their numbers in the whole network."""
        return _tensor(self._batch.events)

    def __len__(self) -> int:
        return len(self.time)


class LinkTask:
    """Link prediction on one network: the split, who met whom before any time, and the negatives of
    every protocol. Training sees the training events alone.

    seed: of what is drawn while training: batches, candidates, first weights. The negatives of
    evaluations are the same for every seed (another negative_seed changes them). Further options as
    in `curnm train --help`, under task: split="at", validation_from=..., hidden_share=0.1.

    >>> task = curnm.LinkTask(curnm.load("synthetic:repeat"), seed=0)
    >>> len(task.train), len(task.validation)
    (11801, 3000)
    """

    def __init__(self, data: Dataset, seed: int = 0, **options: Value):
        if not isinstance(data, Dataset):
            raise Error(f"a task is made from a curnm.Dataset, not from {type(data).__name__}: "
                        "curnm.load reads one")
        self.data = data
        self._task = _core.Task(data._network, seed, _arrays.options(options))

    seed = property(lambda self: self._task.seed)
    train = property(lambda self: Events(self, "train"), doc="Without those of hidden nodes.")
    validation = property(lambda self: Events(self, "validation"))
    test = property(lambda self: Events(self, "test"))
    test_new = property(lambda self: Events(self, "test_new"),
                        doc="Test events of nodes without a training event.")

    def batches(self, size: int = 200, epoch: int = 0) -> Iterator[Batch]:
        """The training events of an epoch, `size` at a time; boundaries differ from epoch to epoch.

        >>> sum(len(batch) for batch in task.batches(size=200, epoch=0)) == len(task.train)
        True
        """
        from ._linked import _learning

        for begin, end in _learning.batch_ranges(self._task, size, epoch):
            yield Batch(self._task.batch(begin, end, epoch))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{self._task.size(part)} {part}"
                          for part in ("train", "validation", "test"))
        return f"<curnm.LinkTask {self.data.name}: {sizes}>"


Score = Callable[["torch.Tensor", "torch.Tensor", "torch.Tensor"], Any]


def evaluate(task: LinkTask, events: Events, score: Score,
             protocols: Sequence[str] | None = None,
             observe: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any] | None = None,
             ) -> dict[str, dict[str, float]]:
    """AP and AUC of a scorer on a part of a task, {"trans": {"ap": ..., "auc": ...}, ...}.

    score(src, dst, time): a number for each pair, higher is likelier. observe(src, dst, time): called
    with each batch after its scores, for models with a memory (whose state is yours to restore).

    >>> never = lambda src, dst, time: torch.zeros(len(src))
    >>> curnm.evaluate(task, task.test, never, protocols=["random"])["random"]["ap"]
    0.5
    """
    import torch

    if not isinstance(events, Events) or events._task._task is not task._task:
        raise Error("the events are not a part of this task, such as task.validation")

    def scored(src: np.ndarray, dst: np.ndarray, time: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found = score(_tensor(src), _tensor(dst), _tensor(time))
        return _arrays.scores(found, len(src))

    def observed(src: np.ndarray, dst: np.ndarray, time: np.ndarray) -> None:
        observe(_tensor(src), _tensor(dst), _tensor(time))

    return task._task.evaluate(events.part, scored, None if observe is None else observed,
                               None if protocols is None else list(protocols))


class Negatives(NamedTuple):
    src: np.ndarray
    dst: np.ndarray


def negatives(task: LinkTask, protocol: str, part: str = "test") -> Negatives:
    """The negatives of a protocol: row i belongs to event i of the part, at its time.

    >>> curnm.negatives(task, "source_historical").dst.shape == task.test.dst.shape
    True
    """
    src, dst, _ = task._task.negatives(part, protocol)
    return Negatives(src, dst)


def pair_statistics(data: Dataset | LinkTask, src: ArrayLike, dst: ArrayLike,
                    time: ArrayLike) -> np.ndarray:
    """What counting alone knows about pairs strictly before a time, [n,33] float32, the columns of
    curnm.PAIR_STATISTICS. Ages are on a scale fitted to all events, or to a task's training events.

    >>> curnm.pair_statistics(data, [0], [2], [3.0]).shape
    (1, 33)
    """
    owner = data._task if isinstance(data, LinkTask) else data._network
    src = _arrays.nodes(src, "src")
    return _core.pair_statistics(owner, src, _arrays.nodes(dst, "dst"),
                                 _arrays.times(time, size=len(src)))


class Neighbors(NamedTuple):
    nodes: np.ndarray  # [n,k], filled up with -1
    times: np.ndarray  # [n,k]
    events: np.ndarray  # [n,k]
    counts: np.ndarray  # [n]


def neighbors(data: Dataset, nodes: ArrayLike, times: ArrayLike, k: int = 10,
              strategy: str = "recent", seed: int = 0, out: Neighbors | None = None) -> Neighbors:
    """Up to k events of each node strictly before its time: the newest ("recent") or "uniform" ones.
    out: what an earlier call of the same size returned, to be written over. New memory costs about as
    much as finding what is put into it.

    >>> curnm.neighbors(data, [2], [5.0], k=2).nodes
    array([[0, 1]])
    """
    nodes = _arrays.nodes(nodes, "nodes")
    return Neighbors(*_core.neighbors(data._network, nodes,
                                      _arrays.times(times, "times", len(nodes)), k, strategy, seed,
                                      out))


class History(NamedTuple):
    nodes: np.ndarray
    times: np.ndarray  # when the two last met
    offsets: np.ndarray  # [n+1]: those of question i are offsets[i] .. offsets[i+1]


def history(data: Dataset, nodes: ArrayLike, times: ArrayLike) -> History:
    """H_{u,t}: whom each node met strictly before its time, each partner once.

    >>> curnm.history(data, [2], [5.0]).nodes
    array([0, 1])
    """
    nodes = _arrays.nodes(nodes, "nodes")
    return History(*_core.partners_before(data._network, nodes,
                                          _arrays.times(times, "times", len(nodes))))


def average_precision(positives: ArrayLike, negatives: ArrayLike) -> float:
    """Average precision of scores, as scikit-learn defines it.

    >>> curnm.average_precision([2.0, 1.0], [0.5])
    1.0
    """
    return _core.average_precision(_arrays.floats(positives, "positives"),
                                   _arrays.floats(negatives, "negatives"))


def roc_auc(positives: ArrayLike, negatives: ArrayLike) -> float:
    """The share of pairs (positive, negative) in the right order; ties count half.

    >>> curnm.roc_auc([2.0, 1.0], [1.5])
    0.5
    """
    return _core.roc_auc(_arrays.floats(positives, "positives"),
                         _arrays.floats(negatives, "negatives"))


def mrr(positives: ArrayLike, negatives: ArrayLike) -> float:
    """Mean reciprocal rank of positives [n] among their own negatives [n,m]; ties share their ranks.

    >>> curnm.mrr([2.0], [[3.0, 1.0]])
    0.5
    """
    return _core.mrr(_arrays.floats(positives, "positives"),
                     _arrays.floats(negatives, "negatives"))
