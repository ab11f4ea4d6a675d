"""`make run` with its sandbox, killed: what lives in it is there again, and no approval is lost or done twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest

from kschedweb.engine.json_types import Json
from tests.support.processes import wait_until
from tests.support.receiver import Receiver, listening, signature
from tests.support.sandbox import pod
from tests.support.site import PASSWORD, MadeRun, Site, made_run

PODS = 6


def waiting(site: Site) -> dict[str, Json]:
    """The requests about these tests' pods that are open, by the pod's name."""
    rows = site.ask("GET", "approvals/?state=waiting&limit=100")["results"]
    return {row["name"]: row for row in rows if row["name"].startswith(("kept-", "heard-"))}


def _runs(site: Site, name: str) -> bool:
    return "Running on" in details(site, name)["row"]["state"]


def _told_of_binding(site: Site, name: str) -> int:
    return [happening["reason"] for happening in details(site, name)["happenings"]].count("Scheduled")


def details(site: Site, name: str) -> Json:
    response: Json = site.ask("GET", f"sandbox/objects/Pod/payments/{name}/")
    return response


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeRun]:
    allowed = {"KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.1", "KSCHEDWEB_CLUSTER_ALLOW_INSECURE": "true"}
    with made_run(tmp_path_factory.mktemp("run"), KSCHEDWEB_ADMIN_PASSWORD=PASSWORD, **allowed) as run:
        run.site.login("admin", PASSWORD)
        yield run


def test_webhooks_are_told_of_the_sandboxs_pods(run: MadeRun) -> None:
    with listening() as receiver:
        site = run.site
        secret = site.ask("POST", "webhooks/", {"name": "chat", "url": receiver.url})["secret"]
        site.ask("POST", "sandbox/objects/", {"text": json.dumps(pod("heard-0", "payments", "guarded"))})
        wait_until(lambda: bool(list_messages(receiver, "request.opened")), "the receiver hears of the waiting pod")
        request = waiting(site)["heard-0"]
        site.ask("POST", f"approvals/{request['id']}/approve/", {})
        wait_until(lambda: bool(list_messages(receiver, "request.decided")), "the receiver hears of the approval")
        (opened,), (decided,) = list_messages(receiver, "request.opened"), list_messages(receiver, "request.decided")
        assert (opened["node"], opened["state"]) == (request["node"], "waiting")
        assert (decided["node"], decided["state"], decided["decidedBy"]) == (request["node"], "approved", "admin")
        wait_until(partial(_runs, site, "heard-0"), "it runs")
        assert all(headers["webhook-signature"] == signature(secret, headers, body) for headers, body in receiver.got)


def list_messages(receiver: Receiver, kind: str) -> list[Json]:
    """List the receiver's messages about this test's pods."""
    messages = [json.loads(body) for _, body in list(receiver.got)]
    return [message["data"] for message in messages if message["type"] == kind and message["data"]["pod"] == "heard-0"]


def test_killed_it_keeps_what_lives_and_binds_each_approved_pod_once(run: MadeRun) -> None:
    site = run.site
    pods = [pod(f"kept-{number}", "payments", "guarded") for number in range(PODS)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    assert len(site.ask("POST", "sandbox/objects/", {"text": text})["created"]) == PODS
    wait_until(lambda: len(waiting(site)) == PODS, "all wait for approval")
    before = waiting(site)
    names = sorted(before)
    for name in names[:2]:
        site.ask("POST", f"approvals/{before[name]['id']}/approve/", {})
    run.kill()

    run.start()
    site.login("admin", PASSWORD)
    # Those that nobody decided wait as they did, on the node that was found for them.
    still = {name: (row["id"], row["node"]) for name, row in waiting(site).items() if name in names[2:]}
    assert still == {name: (before[name]["id"], before[name]["node"]) for name in names[2:]}
    for name in names[2:]:
        site.ask("POST", f"approvals/{before[name]['id']}/approve/", {})
    for name in names:
        wait_until(partial(_runs, site, name), f"{name} runs")
        assert details(site, name)["row"]["state"] == f"Running on {before[name]['node']}"
    # An event is written after its pod was bound, so that a kill in between loses it; it is never written twice.
    wait_until(lambda: all(_told_of_binding(site, name) for name in names[2:]), "all are told of")
    assert all(_told_of_binding(site, name) == 1 for name in names[2:])
    assert all(_told_of_binding(site, name) <= 1 for name in names[:2])
    assert not waiting(site)
