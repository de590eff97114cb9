"""The simulator from Python: plain lists and dictionaries."""

import evenhand
import pytest

from conftest import ROOT

TRACE = ROOT / "scenarios" / "twenty.csv"
MACHINES = {"cluster": "v100=8", "gpus_per_node": 4}


def test_one_run_is_a_dictionary_of_figures(tmp_path):
    run = evenhand.simulate(TRACE, policy="las", round="2m", **MACHINES)
    assert (run["policy"], run["jobs"], run["finished"], run["ledger"]) == ("las", 20, 20, None)
    kept = evenhand.simulate(TRACE, policy="las", round="2m", out=tmp_path / "run", **MACHINES)
    assert kept["jct_mean_s"] == run["jct_mean_s"] and kept["ledger"]
    again = evenhand.whatif(kept["ledger"], policy=["fifo", "promise"])
    assert [row["policy"] for row in again] == ["las", "fifo", "promise"]
    assert abs(again[0]["jct_mean_s"] / run["jct_mean_s"] - 1) < 0.05


def test_a_comparison_is_a_list_of_rows():
    rows = evenhand.compare(TRACE, policy=["fifo", "themis"], set={"themis.f": 0.5}, **MACHINES)
    assert [row["policy"] for row in rows] == ["fifo", "themis"] and rows[1]["parameters"] == {"f": "0.5"}
    assert len({frozenset(row) for row in rows}) == 1, "all rows have the same columns"
    rows = evenhand.compare(scenario=ROOT / "scenarios" / "twenty.toml", policy=["las"])
    assert rows[0]["policy"] == "las"
    with pytest.raises(ValueError):
        evenhand.compare()


def test_a_cluster_is_divided_in_three_ways_of_saying():
    rows = evenhand.share([[1, 2], [1, 5]], [1, 1], "oef-cooperative")
    named = evenhand.share({"ann": {"k80": 1, "v100": 2}, "bob": {"k80": 1, "v100": 5}}, {"k80": 1, "v100": 1}, "oef-cooperative")
    assert named["tenants"] == ["ann", "bob"] and named["models"] == ["k80", "v100"]
    assert named["shares"] == rows["shares"] and rows["shares"][0] == pytest.approx([1.0, 0.25], abs=1e-6)
    weighed = evenhand.share({"ann": [1, 2], "bob": [1, 2]}, "2,2", "max-min", weights="3,1")
    assert sum(weighed["shares"][0]) == pytest.approx(3.0, abs=1e-6)


def test_history_from_slurm_is_a_trace_with_machines():
    history = ROOT / "tests" / "readers" / "samples" / "history.txt"
    rows = evenhand.whatif(history, cluster="a100=512,h100=8", policy=["promise", "las"])
    assert [row["policy"] for row in rows] == ["fifo", "promise", "las"] and all(row["finished"] == row["jobs"] for row in rows)


def test_what_the_binary_complains_of_is_an_error():
    with pytest.raises(evenhand.BinaryError) as error:
        evenhand.simulate(TRACE, policy="shokwave", **MACHINES)
    assert error.value.code == 2 and "did you mean `shockwave`" in str(error.value)
