"""Agents outside: heard if they answer, missed if they do not, and never in the way."""

import subprocess

import evenhand
import pytest

from conftest import eventually

FLAGS = ["--policy", "themis", "--set", "lease=1m", "--set", "f=0", "--round", "1s"]


def replayed(server, folder):
    ledger = server.client.save_ledger(folder / "ledger.jsonl")
    done = subprocess.run([evenhand.binary.binary(), "replay", str(ledger)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def refusals(server):
    notes = [note for record in server.client.ledger() for note in record.get("n", []) if isinstance(note, dict)]
    return [note["bid-refused"]["reason"] for note in notes if "bid-refused" in note]


def test_an_agent_that_answers_is_heard(serve, tmp_path):
    server = serve(*FLAGS)
    client = server.client
    offers = []

    def bid(offer):
        offers.append(offer)
        jobs = client.jobs(app="search", phase="queued,starting,running")
        waiting = sum(job.phase == "queued" for job in jobs)
        return evenhand.by_trials(offer, waiting=waiting, running=len(jobs) - waiting, left_s=10)

    with evenhand.Agent(client, "search", bid) as agent:
        client.submit(["sleep", "1"], app="search", agent="outside", tenant="vision", array="0-7", steps=1)
        client.submit(["sleep", "1"], app="other", tenant="speech", array="0-3", steps=1)
        eventually("all are done", lambda: len(client.jobs(phase="finished")) == 12)
    assert agent.answered >= 1 and offers[0].models == ["v100"] and sum(node.gpus for node in offers[0].nodes) <= 4
    replayed(server, tmp_path)


def test_an_agent_that_is_not_there_only_loses_its_bids(serve, tmp_path):
    server = serve(*FLAGS)
    server.client.submit(["sleep", "0.5"], app="search", agent="outside", array="0-5", steps=1)
    eventually("all are done", lambda: len(server.client.jobs(phase="finished")) == 6)
    assert "silent" in refusals(server)
    replayed(server, tmp_path)


def test_a_bid_that_makes_no_sense_is_refused_with_its_reason(serve, tmp_path):
    server = serve(*FLAGS)
    client = server.client
    client.submit(["sleep", "2"], app="search", agent="outside", array="0-5", steps=2)
    offer = eventually("an offer", lambda: client.offer("search", wait_s=5))
    with pytest.raises(evenhand.Refused) as refused:
        client.bid("search", offer, [{"rho": 1.0}, {"rho": 0.5, "parts": [{"model": 0, "gang": 1, "gangs": 1000, "span": "node"}]}])
    assert (refused.value.status, refused.value.code) == (422, "bad-bid") and "not offered" in refused.value.message
    # It was an answer: there is no second one.
    with pytest.raises(evenhand.Refused) as refused:
        client.bid("search", offer, [{"rho": 1.0}])
    assert (refused.value.status, refused.value.code) == (409, "not-asked")
    with pytest.raises(evenhand.Refused) as refused:
        client.offer("nobody")
    assert refused.value.code == "no-app"
    eventually("all are done", lambda: len(client.jobs(phase="finished")) == 6)
    replayed(server, tmp_path)


def test_where_an_apps_agent_lives_is_settled_when_it_is_opened(serve):
    client = serve(*FLAGS).client
    client.submit(["sleep", "1000"], app="search")
    with pytest.raises(evenhand.Refused) as refused:
        client.submit(["sleep", "1000"], app="search", agent="outside")
    assert "agent inside" in refused.value.message


def offer_of(gpus, models=("v100",)):
    nodes = [evenhand.OfferedNode(at, 0, at % len(models), count) for at, count in enumerate(gpus)]
    return evenhand.Offer(1, 1, 5, 60_000, 0, list(models), nodes)


def test_more_trials_at_a_time_are_worth_more():
    rows = evenhand.by_trials(offer_of([4]), waiting=3, running=1, left_s=100)
    assert [(row.gangs, row.rho) for row in rows] == [(0, 100), (1, 50), (2, 100 / 3), (3, 25)]
    rows = evenhand.by_trials(offer_of([4]), waiting=8, running=0, left_s=100)
    assert rows[0].rho == 160 and rows[1].rho == 100 and len(rows) == 5
    assert len(evenhand.by_trials(offer_of([2, 2], ("v100", "p100")), waiting=2, running=1, left_s=1, speeds={"v100": 2.0})) == 3
    assert rows[1].as_json() == {"rho": 100.0, "parts": [{"model": 0, "gang": 1, "gangs": 1, "span": "node"}]}


def test_a_bidder_that_fails_does_not_silence_its_agent(serve):
    server = serve(*FLAGS)

    def bid(offer):
        raise ValueError("no idea")

    with evenhand.Agent(server.client, "search", bid) as agent:
        server.client.submit(["sleep", "0.3"], app="search", agent="outside", array="0-5", steps=1)
        eventually("all are done", lambda: len(server.client.jobs(phase="finished")) == 6)
    assert agent.answered == 0 and set(agent.lost) == {"no idea"}
