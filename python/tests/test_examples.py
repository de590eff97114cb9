"""The worked notebooks run as scripts, and draw."""

import subprocess
import sys
import xml.etree.ElementTree

import pytest
from evenhand.pictures import bars, lines

from conftest import EXAMPLES

NOTEBOOKS = {
    "compare_policies.py": ["python-compare-mean.svg", "python-compare-worst.svg"],
    "fair_division.py": ["python-share.svg"],
}


@pytest.mark.parametrize("script", sorted(NOTEBOOKS))
def test_a_notebook_runs_and_draws(script, tmp_path):
    done = subprocess.run([sys.executable, str(EXAMPLES / script), "--images", str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in NOTEBOOKS[script]:
        picture = xml.etree.ElementTree.parse(tmp_path / name).getroot()
        assert picture.tag.endswith("svg") and len(picture) > 5


def test_pictures_are_whole_whatever_the_numbers():
    for picture in (bars({"a<b": 0.0, "c": 1e9}, "x & y"), lines({"a": [(0, 0), (1, 2)], "b": [(1, 1e-6)]}, "t", "x", "y")):
        xml.etree.ElementTree.fromstring(picture)
