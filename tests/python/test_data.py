import curnm
import numpy as np
import pytest
import torch


def test_ids_are_those_of_the_source(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst,time\n7,5,1\n5,9,2\n")
    data = curnm.load(tmp_path / "e.csv")
    assert data.ids.tolist() == [7, 5, 9] and data.src.tolist() == [0, 1]
    named = curnm.Dataset(["a", "b"], ["c", "a"], [1, 2])
    assert named.ids.tolist() == ["a", "c", "b"] and named.dst.tolist() == [1, 0]


def test_frames_are_read_as_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [1, 2], "item": [1, 1], "timestamp": [5, 6], "w": [0.5, 1.5]})
    data = curnm.load(frame)
    assert data.num_nodes == 3 and data.ids.tolist() == ["user:1", "item:1", "user:2"]
    assert data.edge_features.tolist() == [[0.5], [1.5]]


def test_parquet_files_are_read_as_frames(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"src": [1, 2], "dst": [1, 1], "time": [5.5, 6.5]})
    try:
        frame.to_parquet(tmp_path / "e.parquet")
    except ImportError:  # neither pyarrow nor fastparquet: at least what we make of what they read
        with pytest.raises(ImportError, match="pyarrow"):
            curnm.load(tmp_path / "e.parquet")
        monkeypatch.setattr(pandas, "read_parquet", {str(tmp_path / "e.parquet"): frame}.get)
    assert curnm.load(tmp_path / "e.parquet").digest() == curnm.load(frame).digest()


def test_features_are_not_copied():
    features = np.ones((2, 3), dtype=np.float32)
    data = curnm.Dataset([0, 1], [1, 0], [1, 2], edge_features=features)
    assert np.shares_memory(features, data.edge_features)
    assert not data.edge_features.flags.writeable


def test_a_saved_network_is_the_same(tmp_path, data):
    data.save(tmp_path / "saved")
    assert curnm.load(tmp_path / "saved").digest() == data.digest()


def test_histories_and_neighbors_by_hand():
    data = curnm.Dataset([0, 1, 0, 0], [2, 2, 3, 2], [1, 2, 3, 4])
    found = curnm.history(data, [2, 0, 2], [4, 5, 1])
    assert found.nodes.tolist() == [1, 2, 3]  # node 2 meets node 0 at 4 itself: left out
    assert found.times.tolist() == [2, 4, 3] and found.offsets.tolist() == [0, 1, 3, 3]
    near = curnm.neighbors(data, [0, 1], 4, k=3)
    assert near.nodes.tolist() == [[2, 3, -1], [2, -1, -1]] and near.counts.tolist() == [2, 1]
    assert near.events.tolist() == [[0, 2, -1], [1, -1, -1]]


def test_long_calls_are_many_short_ones(data):
    rng = np.random.default_rng(2)
    u, v = rng.integers(0, 60, (2, 5000))
    t = rng.uniform(0, 1.1e5, 5000)
    cuts = [0, 1, 700, 1638, 4000, 5000]
    for k, strategy in ((1, "recent"), (10, "uniform"), (3000, "uniform")):
        whole = curnm.neighbors(data, u, t, k, strategy, seed=4)
        parts = [curnm.neighbors(data, u[a:b], t[a:b], k, strategy, seed=4)
                 for a, b in zip(cuts, cuts[1:])]
        for i, column in enumerate(whole):
            assert np.array_equal(column, np.concatenate([part[i] for part in parts]))
        over = curnm.neighbors(data, v, t, k, strategy)
        again = curnm.neighbors(data, u, t, k, strategy, seed=4, out=over)
        for column, before, expected in zip(again, over, whole):
            assert column is before and np.array_equal(column, expected)
    statistics = curnm.pair_statistics(data, u, v, t)
    assert np.array_equal(statistics, np.concatenate(
        [curnm.pair_statistics(data, u[a:b], v[a:b], t[a:b]) for a, b in zip(cuts, cuts[1:])]))
    assert curnm.neighbors(data, [], []).nodes.shape == (0, 10)
    assert curnm.pair_statistics(data, [], [], []).shape == (0, 33)


def test_what_cannot_be_written_over(data):
    asked = (data, [1, 2], [9.0, 9.0])
    found = curnm.neighbors(*asked, k=3)
    for out in ((), found[:3], ([1], [2], [3], [4]), [*found], tuple(a.astype("f4") for a in found),
                tuple(a[::-1] for a in found)):
        with pytest.raises((curnm.Error, TypeError)):
            curnm.neighbors(*asked, k=3, out=out)
    with pytest.raises(curnm.Error, match="another k"):
        curnm.neighbors(*asked, k=4, out=found)
    with pytest.raises(curnm.Error, match="another number of questions"):
        curnm.neighbors(data, [1], [9.0], k=3, out=found)
    found.times.flags.writeable = False
    with pytest.raises(curnm.Error, match="may not be written"):
        curnm.neighbors(*asked, k=3, out=found)


def test_nothing_is_known_of_the_time_itself(data):
    count = curnm.PAIR_STATISTICS.index("count_pair")
    first = curnm.pair_statistics(data, data.src[:1], data.dst[:1], data.time[:1])
    after = curnm.pair_statistics(data, data.src[:1], data.dst[:1], np.nextafter(data.time[:1], 1e9))
    assert first[0, count] == 0 and after[0, count] == pytest.approx(np.log(2))


def test_parts_of_a_task(task, data):
    assert len(task.test) + len(task.validation) + len(task.train) <= len(data)
    assert task.train.time.max() <= task.validation.time.min() <= task.test.time.min()
    assert np.array_equal(data.src[task.test.events], task.test.src)
    batches = list(task.batches(size=100, epoch=3))
    assert torch.equal(torch.cat([batch.src for batch in batches]), task.train.src)
    assert torch.equal(batches[0].events, task.train.events[:len(batches[0])])


def test_negatives_of_the_evaluation(task):
    drawn = curnm.negatives(task, "source_historical")
    assert np.array_equal(drawn.src, task.test.src)
    # The AP of scores by hand is what evaluate says.
    score = lambda src, dst, time: (src * 7 + dst * 3) % 11
    test = task.test
    by_hand = curnm.average_precision(score(test.src, test.dst, 0), score(drawn.src, drawn.dst, 0))
    found = curnm.evaluate(task, test, score, protocols=["source_historical"])
    assert found["source_historical"]["ap_global"] == by_hand


def test_observe_follows_the_stream(task):
    seen = []
    curnm.evaluate(task, task.test, lambda s, d, t: torch.zeros(len(s)),
                   observe=lambda src, dst, time: seen.extend(time.tolist()))
    assert seen == task.test.time.tolist()


def test_adapters(task):
    sampler = curnm.adapters.NegativeEdgeSampler(task, "historical", seed=3)
    batch = next(task.batches())
    ask = (len(batch), batch.src.numpy() + 1, batch.dst.numpy() + 1, batch.time[0], batch.time[-1])
    first, second = sampler.sample(*ask), sampler.sample(*ask)
    assert first[0].shape == (len(batch),) and not np.array_equal(first[1], second[1])
    sampler.reset_random_state()
    assert np.array_equal(sampler.sample(*ask)[1], first[1])
    assert first[0].min() >= 1

    class Empty:
        curnm_batch = batch
    hook = curnm.adapters.MinerHook(curnm.Miner("random", task, 8, 1))
    assert hook.requires == {"curnm_batch"}
    assert hook(None, Empty()).neg.shape[0] == len(batch)
