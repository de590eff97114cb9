"""The service over HTTP, as Python sees it."""

import evenhand
import pytest

from conftest import eventually


def test_a_job_from_submission_to_end(serve):
    server = serve("--policy", "fifo")
    client = server.client
    assert client.health()["status"] == "ok"
    accepted = client.submit(["sh", "-c", "echo hello"], name="hello", tenant="vision", key="mine")
    assert accepted.created and not client.submit(["sh", "-c", "echo hello"], name="hello", tenant="vision", key="mine").created
    job = client.wait("hello", timeout_s=30)
    assert (job.id, job.phase, job.tenant, job.gpus, job.starts) == (accepted.job, "finished", "vision", 1, 1)
    assert client.output(job.id) == "hello\n"
    start = client.output(job.id, start=0)
    assert start == "hello\n" and client.output(job.id, start=start.next) == ""
    assert client.explain(job.id)["has_ended"]
    assert {node["model"] for node in client.nodes()} == {"v100"}
    assert [tenant["name"] for tenant in client.tenants()] == ["vision"]


def test_jobs_are_listed_however_many_held_released_retired_and_cancelled(serve):
    client = serve("--policy", "fifo").client
    client.submit(["sleep", "1000"], array="0-5", app="search")
    batch = client.submit_batch([client.describe(["true"], name="first"), client.describe(["true"], name="second", after=["first"])])
    assert len(batch) == 2 and len(client.jobs()) == 8
    assert [app.name for app in client.apps()] == ["search"]
    running = eventually("four run", lambda: (jobs := client.jobs(phase="running")) and len(jobs) == 4 and jobs)
    client.hold(running[0].id)
    eventually("one is held", lambda: client.job(running[0].id).phase == "held")
    client.release(running[0].id)
    client.retire(running[1].id)
    assert client.wait(running[1].id, timeout_s=60).phase == "retired"
    client.cancel(running[2].id)
    assert client.wait(running[2].id, timeout_s=60).phase == "cancelled"
    client.close_app("search")
    eventually("the app is over", lambda: not client.apps())
    assert client.wait("second", timeout_s=30).phase == "finished"
    client.use_policy("las")
    assert client.policies()["policies"]


def test_what_is_wrong_is_an_error_that_says_so(serve):
    server = serve("--policy", "fifo")
    client = server.client
    with pytest.raises(evenhand.Refused) as refused:
        client.submit(["true"], gpus=99)
    assert refused.value.status == 422 and "gpus" in refused.value.message
    with pytest.raises(evenhand.Refused) as refused:
        client.job("nobody")
    assert (refused.value.status, refused.value.code) == (404, "no-job")
    with pytest.raises(evenhand.Refused) as refused:
        evenhand.Client(client.server, "evenhand_0").jobs()
    assert refused.value.status == 401
    with pytest.raises(evenhand.Refused) as refused:
        client.submit(["true"], agent="outside")
    assert "no app" in refused.value.message
    with pytest.raises(evenhand.Unreachable):
        evenhand.Client("http://127.0.0.1:1", "x", timeout_s=2).health()


def test_a_server_that_is_away_for_a_while_is_waited_for(serve):
    server = serve("--policy", "fifo")
    client = evenhand.Client.of_state(server.state, patience_s=30)
    job = client.submit(["sleep", "1"]).job
    server.kill()
    server.start()
    assert client.wait(job, timeout_s=30).phase == "finished"
