"""Models of the library, through Python as on the command line."""

import json
import os
import subprocess
import threading

import curnm
import numpy as np
import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return curnm.train("synthetic:repeat", epochs=2, walk="off", seed=3, out=folder,
                       progress=False), folder


def program(*words):
    ended = subprocess.run([os.environ["CURNM_PROGRAM"], *map(str, words)], text=True,
                           capture_output=True, check=True)
    return ended.stdout


def test_the_same_bits_as_the_command_line(run, tmp_path):
    text = program("train", "synthetic:repeat", "--epochs", 2, "--walk", "off", "--seed", 3, "--json",
                   "--out", tmp_path / "run")
    expected, result = json.loads(text), dict(run[0].result)
    for record in (expected, result):
        record.pop("seconds_per_epoch")
    expected.pop("environment")
    assert result == expected


def test_the_folder_is_one_of_the_program(run):
    trained, folder = run
    assert json.loads((folder / "result.json").read_text())["test"] == trained.test
    answers = json.loads(program("predict", folder, "--src", 7, "--time", 2592000, "--topk", 3,
                                 "--json"))
    for predictor in (trained.predictor(), curnm.Predictor.load(folder)):
        found = predictor.topk(src=7, time=2592000, k=3)
        assert [str(node) for node in found.ids] == [answer["dst"] for answer in answers]
        assert found.scores.tolist() == pytest.approx([answer["logit"] for answer in answers])


def test_metrics_and_notebook(run):
    trained = run[0]
    assert len(trained.metrics) == 2
    shown = trained._repr_html_()
    assert "<polyline" in shown and "source_historical" in shown
    assert trained.options["train"]["seed"] == 3


def test_a_folder_is_not_overwritten(run):
    with pytest.raises(curnm.Error, match="exists"):
        curnm.train("synthetic:repeat", epochs=1, out=run[1])


def test_many_sources_are_answered_as_one_by_one(run):
    predictor = run[0].predictor()
    sources, times = [7, 8, 9, 7, 8], [3e6, 2e6, 3e6, 2e6, 3e6]
    many = predictor.topk(sources, times, k=5, exclude_seen=True)
    for row, (src, time) in enumerate(zip(sources, times)):
        one = predictor.topk(src, time, k=5, exclude_seen=True)
        assert many.ids[row].tolist() == one.ids.tolist()
        assert many.scores[row].tobytes() == one.scores.tobytes()


def test_answers_are_explained_as_by_the_program(run):
    trained, folder = run
    predictor = trained.predictor()
    answers = json.loads(program("predict", folder, "--src", 7, "--time", 2592000, "--topk", 3,
                                 "--explain", "--json"))
    found = predictor.explain([7] * 3, [int(answer["dst"]) for answer in answers], 2592000,
                              "destination")
    logits = predictor.score([7] * 3, [int(answer["dst"]) for answer in answers], 2592000,
                             "destination")
    for answer, why, logit in zip(answers, found, logits):
        assert why.pop("logit") == logit == pytest.approx(answer["logit"])
        assert why["words"] == answer["why"]["words"] and why["met"] == answer["why"]["met"]
        assert why["moved"] == pytest.approx(answer["why"]["moved"], abs=1e-5)
    with pytest.raises(curnm.Error, match="nothing to explain"):
        predictor.explain(7, 8, 0)


def test_predictions_and_new_events(run, tmp_path):
    predictor = run[0].predictor()
    seen = set(predictor.data.dst[predictor.data.src == 7].tolist())
    assert not seen & set(predictor.topk(7, 3e6, k=50, exclude_seen=True).ids.tolist())
    both = predictor.topk([7, 8], [3e6, 3e6], k=4)
    assert both.ids.shape == (2, 4) and both.ids[0].tolist() == predictor.topk(7, 3e6, 4).ids.tolist()
    best = both.ids[0, 0]
    assert predictor.score([7], [best], 3e6, "destination")[0] == both.scores[0, 0]

    before = predictor.score([7], [best], 3e6)
    predictor.append([7, 1000], [best, best], [2.9e6, 2.95e6])
    assert predictor.score([7], [best], 3e6) != before
    assert predictor.score([7], [best], 2.8e6) == run[0].predictor().score([7], [best], 2.8e6)
    with pytest.raises(curnm.Error, match="precedes"):
        predictor.append([7], [best], [1.0])
    with pytest.raises(curnm.Error, match="not in the network"):
        predictor.topk("nobody", 3e6)
    predictor.save(tmp_path / "model")
    again = curnm.Predictor.load(tmp_path / "model", predictor.data)
    assert again.score([1000], [best], 3e6) == predictor.score([1000], [best], 3e6)


def first_events(data, count):
    return curnm.Dataset(data.src[:count], data.dst[:count], data.time[:count])


@pytest.mark.parametrize("model", ["light", "tgn"])
def test_events_one_after_the_other_are_the_same_as_all_at_once(model, data, tmp_path):
    run = curnm.train(first_events(data, 1600), model=model, epochs=1, walk="off", progress=False)
    growing = run.predictor()
    growing.save(tmp_path / "model")
    ends = [1601, 1602, 1610, 1799, 1800, 2000]
    for begin, end in zip([1600, *ends], ends):
        growing.append(data.src[begin:end], data.dst[begin:end], data.time[begin:end])
        with pytest.raises(curnm.Error, match="precedes"):
            growing.append([0], [41], [0.0])
        loaded = curnm.Predictor.load(tmp_path / "model", first_events(data, end))
        for time in (data.time[end - 1] + 1, data.time[end - 1], data.time[1000]):
            for exclude_seen in (False, True):
                asked = {"src": [3, 7, 3], "time": [time, time, data.time[1500]], "k": 20}
                found = growing.topk(**asked, exclude_seen=exclude_seen)
                expected = loaded.topk(**asked, exclude_seen=exclude_seen)
                assert np.array_equal(found.ids, expected.ids)
                assert np.array_equal(found.scores, expected.scores)
            pairs = ([1, 2, 3], [41, 42, 43], [time, data.time[200], time])
            assert np.array_equal(growing.score(*pairs), loaded.score(*pairs))
        assert growing.data.digest() == loaded.data.digest()


def test_names_that_come_later(tmp_path):
    rng = np.random.default_rng(1)
    src, time = rng.integers(100, 120, 900), np.arange(900.0)
    dst = rng.integers(500, 530, 900)
    data = curnm.Dataset(src.astype(str), dst.astype(str), time)
    predictor = curnm.train(data, epochs=1, walk="off", progress=False).predictor()
    assert predictor.topk(100, 1e3, k=3).ids.dtype == np.int64
    predictor.append([100, 999], [777, 777], [900, 901])
    found = predictor.topk(100, 1e3, k=1000).ids
    assert found.dtype == np.int64 and 777 in found
    predictor.append([100], ["a shop"], [902])
    found = predictor.topk(100, 1e3, k=1000).ids.tolist()
    assert "a shop" in found and "777" in found
    with pytest.raises(curnm.Error, match="'a shop'"):  # the nearest that there is
        predictor.topk("a shpo", 1e3)


def test_questions_while_events_are_appended(data):
    predictor = curnm.train(first_events(data, 1600), model="tgn", epochs=1, walk="off",
                            progress=False).predictor()
    past = data.time[1200]
    expected = predictor.topk([1, 2], past, k=5)
    done, wrong = threading.Event(), []

    def ask():
        while not done.is_set():
            found = predictor.topk([1, 2], past, k=5)
            if not np.array_equal(found.scores, expected.scores):
                wrong.append(found)
            len(predictor.data)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for at in range(1600, 1760, 10):
        predictor.append(data.src[at:at + 10], data.dst[at:at + 10], data.time[at:at + 10])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong and len(predictor.data) == 1760


def test_arrays_without_a_file(tmp_path, data):
    folder = tmp_path / "run"
    trained = curnm.train(data, epochs=1, walk="off", out=folder, progress=False)
    with pytest.raises(curnm.Error, match="trained on arrays"):
        curnm.Predictor.load(folder)
    asked = (data.src[-5:], data.dst[-5:], data.time[-1] + 1)
    loaded = curnm.Predictor.load(folder, data)
    assert np.array_equal(loaded.score(*asked), trained.predictor().score(*asked))


def test_experiments_are_frames(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "small.yml").write_text(
        "name: small\nnetworks: [synthetic:repeat]\nmodels: [light]\nminers: [random]\nseeds: [0]\n"
        "options: {epochs: 1, walk: off}\n")
    frame = curnm.experiment(tmp_path / "small.yml", store=tmp_path / "store")
    assert frame["state"].tolist() == ["done"]
    assert 0 < frame["scores.test.trans.ap"][0] < 1
    with pytest.raises(curnm.Error, match="curnm results"):
        curnm.results(tmp_path / "nowhere")
