from __future__ import annotations

from typing import Any, Callable

import torch

from . import _arrays
from ._arrays import ArrayLike, Value
from ._core import Error
from ._data import Batch, LinkTask
from ._linked import _learning

LogitFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Links:
    """Positives and proposed negatives of a batch.

    nodes, times [R]: the distinct questions, to be embedded as one matrix [R,D]. src, dst, time [L]:
    each link, positives first; rows [L,2]: the rows of its two ends among the questions. losses: the
    parts of the loss, once it has been computed.
    """

    def __init__(self, proposal: _learning.Proposal):
        self._proposal = proposal
        self.nodes = proposal.nodes
        self.times = proposal.times

    src = property(lambda self: self._proposal.src)
    dst = property(lambda self: self._proposal.dst)
    time = property(lambda self: self._proposal.time)
    rows = property(lambda self: self._proposal.rows)
    losses = property(lambda self: self._proposal.losses)
    num_positives = property(lambda self: self._proposal.num_positives)
    num_candidates = property(lambda self: self._proposal.num_candidates)


def _load(weights: dict[str, torch.Tensor], given: dict[str, torch.Tensor]) -> None:
    """Copies values into weights of the same names and shapes."""
    if set(weights) != set(given):
        raise Error(f"the weights are called {sorted(given)} instead of {sorted(weights)}")
    with torch.no_grad():
        for name, weight in weights.items():
            if weight.shape != given[name].shape:
                raise Error(f"{name} has shape {list(given[name].shape)} instead of "
                            f"{list(weight.shape)}")
            weight.copy_(given[name])


class Decoder:
    """A decoder of the library for embeddings of any model: "additive" sees the two embeddings,
    "pair" what is known of the pair besides. It is differentiable, and its parameters are ordinary
    tensors. outputs: 1, or miner.outputs for a miner that teaches a score for each question.

    >>> decoder = curnm.Decoder("pair", task, width=32)
    >>> len(decoder.parameters())
    10
    """

    def __init__(self, name: str, task: LinkTask, width: int, outputs: int = 1, **options: Value):
        self._task = task
        self._decoder = _learning.Decoder(name, task._task, width, outputs, _arrays.options(options))

    outputs = property(lambda self: self._decoder.outputs)

    def parameters(self) -> list[torch.Tensor]:
        return self._decoder.parameters()

    def score(self, model: Any, src: ArrayLike, dst: ArrayLike, time: ArrayLike) -> torch.Tensor:
        """Logits of pairs, [n] (or [n,Q]), by model(nodes, times) -> [R,D] in evaluation mode. All
        events strictly before each time may be looked up."""
        links = _learning.Links(self._task._task, _arrays.nodes(src, "src"), _arrays.nodes(dst, "dst"),
                            _arrays.times(time))
        training = getattr(model, "training", False)
        if training:
            model.eval()
        try:
            with torch.no_grad():
                z = _tensor(model(links.nodes, links.times))
                logits = self._decoder.logits(links, z)
        finally:
            if training:
                model.train()
        return logits.squeeze(1) if self.outputs == 1 else logits

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {name: weight.detach().clone() for name, weight in self._decoder.weights().items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        _load(self._decoder.weights(), state)


def _tensor(z: Any) -> torch.Tensor:
    if not isinstance(z, torch.Tensor):
        raise Error(f"the model returned {type(z).__name__}: a tensor of embeddings is needed")
    return z


class Miner:
    """Chooses the negatives that a model learns from: "curnm", "random", "mixture", ...

    width: of the embeddings. epochs: how many there will be, which curricula are laid out for.
    Options as in `curnm train --help`, under miner: pool=16, preset="ranking".

    For each batch, in this order: propose, loss (the model in between), observe; after each epoch
    end_epoch. The default is one score for everything; outputs="questions" needs
    Decoder(..., outputs=miner.outputs).

    >>> miner = curnm.Miner("curnm", task, width=32, epochs=3)
    >>> links = miner.propose(next(task.batches(size=200)))
    >>> links.nodes.shape == links.times.shape
    True
    """

    def __init__(self, name: str, task: LinkTask, width: int, epochs: int, **options: Value):
        self._miner = _learning.Miner(name, task._task, width, epochs, _arrays.options(options))

    outputs = property(lambda self: self._miner.outputs)
    notes = property(lambda self: self._miner.notes(), doc="Remarks on this miner and network.")

    def parameters(self) -> list[torch.Tensor]:
        return self._miner.parameters()

    def propose(self, batch: Batch) -> Links:
        """Candidates for a batch of task.batches, before anything is embedded."""
        if not isinstance(batch, Batch):
            raise Error(f"a batch of task.batches is needed, not {type(batch).__name__}")
        return Links(self._miner.propose(batch._batch))

    def loss(self, links: Links, embeddings: torch.Tensor,
             decoder: Decoder | LogitFunction) -> torch.Tensor:
        """The loss of the links, with a gradient. embeddings: [R,D] of links.nodes at links.times.
        decoder: a curnm.Decoder, or a function (h_src, h_dst) -> logits [n], such as a Module."""
        _check_links(links)
        z = _tensor(embeddings)
        if isinstance(decoder, Decoder):
            return self._miner.loss(links._proposal, z, decoder._decoder)
        if not callable(decoder):
            raise Error(f"{type(decoder).__name__} is no decoder: a curnm.Decoder or a function "
                        "(h_src, h_dst) -> logits is needed")
        parameters = decoder.parameters() if isinstance(decoder, torch.nn.Module) else []
        return self._miner.loss(links._proposal, z, decoder,
                                [weight for weight in parameters if weight.requires_grad])

    def observe(self, links: Links) -> None:
        """After the step: hard negatives are kept for later epochs."""
        _check_links(links)
        self._miner.observe(links._proposal)

    def end_epoch(self, validation: float | dict[str, dict[str, float]]) -> dict[str, float]:
        """After the validation of an epoch, by a figure or by what `evaluate` returned: the curriculum
        moves on. Returns what is known about the epoch: difficulty, shares."""
        if isinstance(validation, dict):
            ap = {protocol: float(figures["ap"]) for protocol, figures in validation.items()}
            if not ap:
                raise Error("the validation has no protocol")
            return self._miner.end_epoch(sum(ap.values()) / len(ap), ap)
        return self._miner.end_epoch(float(validation), {})

    def state_dict(self) -> dict[str, Any]:
        weights = {name: weight.detach().clone() for name, weight in self._miner.weights().items()}
        return {"weights": weights, "state": self._miner.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        _load(self._miner.weights(), state["weights"])
        self._miner.set_state(list(state["state"]))


def _check_links(links: Links) -> None:
    if not isinstance(links, Links):
        raise Error(f"what propose returned is needed, not {type(links).__name__}")
