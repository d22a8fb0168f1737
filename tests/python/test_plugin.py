"""Miners and decoders around a torch model that knows nothing of them."""

import curnm
import pytest
import torch
from conftest import MeanOfNeighbors


def train(task, model, miner, decoder, epochs, parameters=()):
    opt = torch.optim.Adam([*model.parameters(), *parameters, *miner.parameters()], lr=1e-2)
    losses = []
    for epoch in range(epochs):
        model.forget()
        for batch in task.batches(size=200, epoch=epoch):
            links = miner.propose(batch)
            loss = miner.loss(links, model(links.nodes, links.times), decoder)
            opt.zero_grad(); loss.backward(); opt.step()
            model.observe(batch.src, batch.dst, batch.time); miner.observe(links)
            losses.append(loss.item())
        miner.end_epoch(0.5 + 0.1 * epoch)
    return losses


def test_the_program_of_the_documentation(tmp_path, monkeypatch, data):
    ids = data.ids
    rows = "".join(f"{u},{v},{t}\n" for u, v, t in zip(ids[data.src], ids[data.dst], data.time))
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci/edges.csv").write_text("src,dst,time\n" + rows)
    monkeypatch.chdir(tmp_path)
    MyModel = lambda: MeanOfNeighbors(60, width=100)

    data  = curnm.load("uci/edges.csv")
    task  = curnm.LinkTask(data, seed=0)
    model = MyModel()
    miner = curnm.Miner("curnm", task, width=100, epochs=20)
    decoder = curnm.Decoder("pair", task, width=100)
    opt = torch.optim.Adam([*model.parameters(), *decoder.parameters(), *miner.parameters()], lr=1e-3)
    for epoch in range(2):
        for batch in task.batches(size=200, epoch=epoch):
            links = miner.propose(batch)
            loss = miner.loss(links, model(links.nodes, links.times), decoder)
            opt.zero_grad(); loss.backward(); opt.step()
            model.observe(batch.src, batch.dst, batch.time); miner.observe(links)
        result = curnm.evaluate(task, task.validation, lambda src, dst, time: decoder.score(model, src, dst, time), protocols=["trans", "source_historical"])
        miner.end_epoch(result["trans"]["ap"])

    assert result["trans"]["ap"] > 0.6
    assert set(result) == {"trans", "source_historical"}


@pytest.mark.parametrize("name", ["random", "recent", "ens", "taser", "mixture", "curnm"])
def test_every_miner_teaches(task, model, name):
    miner = curnm.Miner(name, task, width=32, epochs=3)
    decoder = curnm.Decoder("additive", task, width=32, outputs=miner.outputs)
    losses = train(task, model, miner, decoder, epochs=3, parameters=decoder.parameters())
    assert sum(losses[-3:]) < sum(losses[:3])


def test_a_decoder_of_ones_own(task, model):
    linear = torch.nn.Linear(64, 1)
    own = lambda h_src, h_dst: linear(torch.cat([h_src, h_dst], 1)).squeeze(1)
    losses = train(task, model, curnm.Miner("curnm", task, 32, 3), own, 3, linear.parameters())
    assert sum(losses[-3:]) < sum(losses[:3])


def test_an_output_for_each_question(task, model):
    miner = curnm.Miner("curnm", task, width=32, epochs=2, outputs="questions")
    decoder = curnm.Decoder("pair", task, width=32, outputs=miner.outputs)
    train(task, model, miner, decoder, epochs=1, parameters=decoder.parameters())
    score = lambda src, dst, time: decoder.score(model, src, dst, time)
    result = curnm.evaluate(task, task.validation, score)
    assert score(task.test.src[:5], task.test.dst[:5], task.test.time[:5]).shape == (5, 4)
    batch = next(task.batches(epoch=1))
    links = miner.propose(batch)
    miner.loss(links, model(links.nodes, links.times), decoder)
    miner.observe(links)
    assert "share_pair" in miner.end_epoch(result)


def test_the_same_draws_again(task, model):
    def run():
        torch.manual_seed(1)
        fresh = MeanOfNeighbors(60)
        decoder = curnm.Decoder("pair", task, width=32)
        return train(task, fresh, curnm.Miner("curnm", task, 32, 2), decoder, 2, decoder.parameters())
    assert run() == run()


def test_rows_of_links(task):
    links = curnm.Miner("random", task, 8, 1).propose(next(task.batches()))
    assert torch.equal(links.nodes[links.rows[:, 0]], links.src)
    assert torch.equal(links.nodes[links.rows[:, 1]], links.dst)
    assert torch.equal(links.times[links.rows[:, 1]], links.time)


def test_gradients_reach_everything(task, model):
    miner = curnm.Miner("curnm", task, width=32, epochs=1)
    decoder = curnm.Decoder("pair", task, width=32)
    links = miner.propose(next(task.batches()))
    miner.loss(links, model(links.nodes, links.times), decoder).backward()
    for weight in [*model.parameters(), *decoder.parameters(), *miner.parameters()]:
        assert weight.grad is not None and weight.grad.isfinite().all()


def test_state_of_miner_and_decoder(task, model):
    miner = curnm.Miner("curnm", task, width=32, epochs=4)
    decoder = curnm.Decoder("pair", task, width=32)
    train(task, model, miner, decoder, 2, decoder.parameters())
    other = curnm.Miner("curnm", task, width=32, epochs=4)
    other.load_state_dict(miner.state_dict())
    batch = next(task.batches(epoch=2))
    assert torch.equal(other.propose(batch).dst, miner.propose(batch).dst)
    copy = curnm.Decoder("pair", task, width=32)
    copy.load_state_dict(decoder.state_dict())
    asked = (model, task.test.src[:9], task.test.dst[:9], task.test.time[:9])
    assert torch.equal(copy.score(*asked), decoder.score(*asked))
    with pytest.raises(curnm.Error, match="are called"):
        copy.load_state_dict({})
