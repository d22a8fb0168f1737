import curnm
import numpy as np
import pytest
import torch


class MeanOfNeighbors(torch.nn.Module):
    """A model of somebody: a node is its own vector, and the mean of its last partners' vectors with
    the time since then. What it has observed is its memory."""

    def __init__(self, num_nodes, width=32, last=5):
        super().__init__()
        self.vectors = torch.nn.Embedding(num_nodes, width)
        self.out = torch.nn.Linear(2 * width + 1, width)
        self.last = last
        self.forget()

    def forget(self):
        count = self.vectors.num_embeddings
        self.partners = torch.zeros(count, self.last, dtype=torch.int64)
        self.known = torch.zeros(count, self.last)
        self.seen = torch.zeros(count, dtype=torch.float64)

    def observe(self, src, dst, time):
        for u, v, t in zip(src.tolist(), dst.tolist(), time.tolist()):
            for node, partner in ((u, v), (v, u)):
                self.partners[node] = torch.roll(self.partners[node], 1)
                self.known[node] = torch.roll(self.known[node], 1)
                self.partners[node, 0], self.known[node, 0], self.seen[node] = partner, 1, t

    def forward(self, nodes, times):
        weights = self.known[nodes].unsqueeze(2)
        mean = (self.vectors(self.partners[nodes]) * weights).sum(1) / weights.sum(1).clamp(min=1)
        age = torch.log1p((times - self.seen[nodes]).clamp(min=0)).float().unsqueeze(1) / 10
        return self.out(torch.cat([self.vectors(nodes), mean, age], 1))


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    src, time = rng.integers(0, 40, 2000), np.sort(rng.uniform(0, 1e5, 2000))
    dst = np.where(rng.random(2000) < 0.7, 40 + src % 10, rng.integers(40, 60, 2000))
    return curnm.Dataset(src, dst, time)


@pytest.fixture(scope="session")
def task(data):
    return curnm.LinkTask(data, seed=0)


@pytest.fixture
def model(data):
    torch.manual_seed(0)
    return MeanOfNeighbors(data.num_nodes)
