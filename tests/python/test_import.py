"""What an import loads. In processes of their own, since a module is loaded once."""

import subprocess
import sys
import textwrap

import pytest


def run(program):
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True,
                           capture_output=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_data_statistics_and_negatives_do_without_torch():
    run("""
        import sys
        import curnm
        data = curnm.load("synthetic:repeat")
        task = curnm.LinkTask(data)
        u, v, t = data.src[-3:], data.dst[-3:], data.time[-3:]
        curnm.pair_statistics(data, u, v, t), curnm.neighbors(data, u, t), curnm.history(data, u, t)
        curnm.negatives(task, "source_historical"), curnm.average_precision([2.0], [1.0])
        curnm.adapters.NegativeEdgeSampler(task, offset=0).sample(1, u[:1], v[:1], t[0], t[0])
        assert "Miner" in dir(curnm)
        assert not {"torch", "pandas", "curnm._learning"} & set(sys.modules)
        """)


@pytest.mark.parametrize("imports", ["curnm, torch", "torch, curnm"])
def test_torch_may_come_first_or_later(imports):
    program = f"""
        import {imports}
        task = curnm.LinkTask(curnm.load("synthetic:repeat"))
        miner, decoder = curnm.Miner("curnm", task, 4, 1), curnm.Decoder("pair", task, 4)
        links = miner.propose(next(task.batches()))
        miner.loss(links, torch.ones(len(links.nodes), 4, requires_grad=True), decoder).backward()
        miner.observe(links)
        """
    run(program)


def test_what_there_is_not():
    import curnm

    with pytest.raises(AttributeError, match="no attribute 'Minre'"):
        curnm.Minre


def test_errors_of_both_modules_are_one():
    run("""
        import curnm
        for wrong in (lambda: curnm.load("nowhere"), lambda: curnm.Predictor.load("nowhere"),
                      lambda: curnm.train("synthetic:repeat", epochs=-1)):
            try:
                wrong()
            except curnm.Error as error:
                assert isinstance(error, ValueError)
            else:
                raise AssertionError
        """)
