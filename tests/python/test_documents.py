"""What documents and notebooks show is run."""

import doctest
import os
import pathlib
import re

import curnm
import pytest
import torch
from conftest import MeanOfNeighbors

ROOT = pathlib.Path(__file__).parents[2]


def test_examples_of_the_docstrings():
    names = {"curnm": curnm, "torch": torch}
    names["task"] = curnm.LinkTask(curnm.load("synthetic:repeat"))
    names["data"] = curnm.Dataset([0, 1, 0], [2, 2, 3], [1.0, 2.0, 5.0])
    documented = 0
    for name in curnm.__all__:
        thing = getattr(curnm, name)
        if not callable(thing):
            continue
        found = [test for test in doctest.DocTestFinder().find(thing, name, globs=dict(names))
                 if test.examples]
        for test in found:
            assert doctest.DocTestRunner().run(test).failed == 0, test.name
        documented += len(found)
    assert documented >= 15


def test_the_programs_of_the_page(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    os.mkdir("uci")
    with open("uci/edges.csv", "w") as file:
        file.write("src,dst,time\n")
        file.writelines(f"{u},{v},{t}\n" for u, v, t in zip(data.src, data.dst, data.time))
    page = (ROOT / "docs/python.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert programs
    names = {"MyModel": lambda: MeanOfNeighbors(60, width=100)}
    for program in programs:
        exec(program.replace("range(20)", "range(2)"), names)


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks(notebook, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
