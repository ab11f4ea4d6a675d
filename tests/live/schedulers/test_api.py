"""Live schedulers over REST, and what a stream tells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pytest
from django.test import AsyncClient
from django.utils import timezone

from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.roles import Role
from kschedweb.live.schedulers.models import Candidate, LiveScheduler
from tests.support import seed_live

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.clusters.models import Cluster

LIVE = "/api/v1/live/"
Events = list[tuple[str, dict[str, Any], str]]


@pytest.fixture
def scheduling(admin: User) -> LiveScheduler:
    live: LiveScheduler = seed_live.scheduler(admin)
    return live


@pytest.mark.django_db
def test_one_is_made_changed_switched_and_deleted(api_as: Callable[[str], APIClient], connected: Cluster) -> None:
    api = api_as("admin")
    created = api.post(LIVE, {"cluster": "here", "scheduler_name": "batch", "policy": "default", "qps": 0})
    assert created.status_code == 201, created.data
    assert (created.data["mode"], created.data["revision"], created.data["qps"], created.data["burst"]) == (
        "off",
        1,
        0,
        100,
    )
    address = f"{LIVE}{created.data['id']}/"
    assert created["Location"].endswith(address)
    assert api.patch(address, {"keep_columns": 5}).data["keep_columns"] == 5
    assert api.post(f"{address}mode/", {"mode": "scheduling"}).data["mode"] == "scheduling"
    assert api.delete(address).status_code == 409
    api.post(f"{address}mode/", {"mode": "off"})
    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404


@pytest.mark.django_db
def test_by_what_its_leader_is_elected_is_told_and_set(
    api_as: Callable[[str], APIClient], scheduling: LiveScheduler
) -> None:
    api, address = api_as("admin"), f"{LIVE}{scheduling.pk}/"
    settings = {setting["name"]: setting for setting in api.get(address).data["leader_election"]}
    name = {"name": "resourceName", "value": f"kschedweb-{scheduling.scheduler_name}", "source": "default"}
    assert settings["resourceName"] == {**name, "overruled": ""}
    assert settings["leaderElect"]["source"] == "site"
    changed = api.patch(address, {"lease_name": "mine", "lock": "configmaps"}).data
    settings = {setting["name"]: (setting["value"], setting["source"]) for setting in changed["leader_election"]}
    assert (settings["resourceName"], settings["resourceLock"]) == (("mine", "scheduler"), ("configmaps", "scheduler"))
    assert api.patch(address, {"lease_name": "", "lock": ""}).data["lock"] == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "status", "path"),
    [
        ({"cluster": "nowhere"}, 400, "cluster"),
        ({"cluster": "no\0where"}, 400, "cluster"),
        ({"cluster": ["here"]}, 400, "cluster"),
        ({"policy": "nowhere"}, 400, "policy"),
        ({"policy": "\0"}, 400, "policy"),
        ({"revision": 9}, 400, "revision"),
        ({"scheduler_name": "Not a name"}, 422, "scheduler_name"),
        ({"qps": -1}, 400, "qps"),
        ({"burst": 0}, 422, "burst"),
        ({"mode": "asleep"}, 400, "mode"),
        ({"lease_namespace": "No Such"}, 422, "lease_namespace"),
        ({"lock": "etcd"}, 400, "lock"),
    ],
)
def test_wrong_input_is_a_problem_that_names_its_field(
    api_as: Callable[[str], APIClient], connected: Cluster, changes: dict[str, Any], status: int, path: str
) -> None:
    body = {"cluster": "here", "scheduler_name": "batch", "policy": "default", **changes}
    answer = api_as("admin").post(LIVE, body)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert path in [error["path"] for error in answer.json()["errors"]]


@pytest.mark.django_db
def test_a_command_with_a_key_is_done_once(api_as: Callable[[str], APIClient], scheduling: LiveScheduler) -> None:
    api, address = api_as("editor"), f"{LIVE}{scheduling.pk}"
    assert api.post(f"{address}/step/", {"pods": 2}).status_code == 409
    assert api.post(f"{address}/pause/").data["paused"]
    for _ in range(2):
        assert api.post(f"{address}/step/", {"pods": 2}, headers={"Idempotency-Key": "one"}).data["steps"] == 2
    assert api.post(f"{address}/step/", {"pods": 1001}).status_code == 400
    assert api.post(f"{address}/step/", {}).data["steps"] == 3
    assert not api.post(f"{address}/resume/").data["paused"]
    assert api.post(f"{address}/reload/").status_code == 200
    scheduling.refresh_from_db()
    assert scheduling.reloads == 1


@pytest.mark.django_db
def test_its_status_and_decisions_are_told(api_as: Callable[[str], APIClient], scheduling: LiveScheduler) -> None:
    api, address = api_as("viewer"), f"{LIVE}{scheduling.pk}/"
    assert api.get(address).data["status"]["state"] == "Not hosted"
    seed_live.hosted(scheduling)
    status = api.get(address).data["status"]
    assert (status["state"], status["median_ms"], status["depths"]["unschedulable"]) == ("Scheduling", 41.0, 3)
    assert [(candidate["identity"], candidate["leading"]) for candidate in status["candidates"]] == [
        ("host-1_4711", True),
        ("host-2_4712", False),
    ]
    whole, short = seed_live.explained(scheduling), seed_live.decision(scheduling, result="unschedulable")
    listed = api.get(f"{address}decisions/", {"result": "unschedulable"}).data["results"]
    assert [row["id"] for row in listed] == [str(short.pk)]
    explanation = api.get(f"{address}decisions/{whole.pk}/").data["explanation"]
    assert explanation["chosen"] == whole.node
    assert explanation["rejected"]["small"]["reasons"] == ["Insufficient cpu"]
    assert api.get(f"{address}decisions/{short.pk}/").data["explanation"] is None
    assert api.get(f"{address}decisions/{uuid4()}/").status_code == 404


@pytest.mark.django_db
def test_a_cluster_that_does_not_answer_is_said_when_rights_are_asked_for(
    api_as: Callable[[str], APIClient], client_as: Callable[[str], Client], live: LiveScheduler
) -> None:
    answer = api_as("editor").post(f"{LIVE}{live.pk}/rights/", {"mode": "scheduling"})
    assert answer.status_code == 409
    assert "has no stored credentials" in answer.json()["detail"]
    page = client_as("editor").post(f"/live/{live.pk}/setup/", {"mode": "shadow"})
    assert "here does not say what is missing: " in page.content.decode()
    assert client_as("viewer").post(f"/live/{live.pk}/setup/", {"mode": "shadow"}).status_code == 403
    assert "kind: ClusterRole" in client_as("viewer").get(f"/live/{live.pk}/setup/").content.decode()


def parsed(text: str) -> Events:
    """The events of a stream: name, data, id."""
    events: Events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            events.append((fields["event"], json.loads(fields["data"]), fields.get("id", "")))
    return events


@pytest.mark.django_db
def test_a_stream_without_asgi_tells_the_news_and_ends(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    client, address = client_as("viewer"), f"{LIVE}{scheduling.pk}/stream/"

    def ask(after: str) -> Events:
        answer = client.get(address, headers={"Accept": "text/event-stream", "Last-Event-ID": after})
        assert answer["Content-Type"] == "text/event-stream"
        return parsed(b"".join(cast(Any, answer).streaming_content).decode())

    seed_live.decision(scheduling, "before")
    ((name, status, place),) = ask("")
    assert (name, status["state"]) == ("status", "Not hosted")
    seed_live.decision(scheduling, "web-1")
    seed_live.decision(scheduling, "web-2")
    events = ask(place)
    assert [(name, data.get("name")) for name, data, _ in events] == [
        ("decision", "web-1"), ("decision", "web-2"), ("status", None),
    ]  # fmt: skip
    assert [data["name"] for name, data, _ in ask(events[0][2]) if name == "decision"] == ["web-2"]
    assert [name for name, _, _ in ask("nonsense")] == ["status"]


@pytest.mark.django_db
def test_more_decisions_than_anybody_reads_are_told_as_a_number(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    start = timezone.now() - timedelta(hours=1)
    for number in range(120):
        seed_live.decision(scheduling, f"web-{number}", at=start + timedelta(seconds=number + 1))
    answer = client_as("viewer").get(
        f"{LIVE}{scheduling.pk}/stream/", headers={"Last-Event-ID": f"{start.isoformat()}/{uuid4()}"}
    )
    events = parsed(b"".join(cast(Any, answer).streaming_content).decode())
    names = [data["name"] for name, data, _ in events if name == "decision"]
    assert (len(names), names[-1]) == (100, "web-119")
    assert [name for name, _, _ in events if name != "decision"] == ["skipped", "status"]


def listened(
    client: Client, live: LiveScheduler, acts: Sequence[Callable[[], object]], last: str, after: str
) -> Events:
    """Read an open stream until it names ``last``; each status from it triggers the next act."""

    async def listen() -> Events:
        from asgiref.sync import sync_to_async

        other = AsyncClient()
        other.cookies = client.cookies
        answer = await other.get(f"{LIVE}{live.pk}/stream/", headers={"Last-Event-ID": after})
        chunks = cast(AsyncIterator[bytes], cast(Any, answer).streaming_content)
        text, remaining = "", list(acts)
        async for chunk in chunks:
            text += chunk.decode()
            if b"event: status" in chunk and remaining:
                await sync_to_async(remaining.pop(0))()
            if f'"{last}"' in text:
                return parsed(text)
        return parsed(text)

    # In a thread of its own: Playwright's event loop runs on in the main thread of a process that has used it.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(asyncio.wait_for(listen(), 60))).result()


@pytest.mark.django_db(transaction=True)
def test_whoever_sees_some_namespaces_is_told_of_their_pods_alone(client: Client, scheduling: LiveScheduler) -> None:
    person = User.objects.create_user(username="of-one", password="of-one-password", role=Role.NONE)
    Grant.objects.create(user=person, role=Role.VIEWER, scope=GrantScope.ALL, namespaces=["ours"])
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    before = timezone.now()
    for name, namespace in (("missed-1", "default"), ("missed-2", "ours")):
        seed_live.decision(scheduling, name, namespace=namespace)

    def act() -> None:
        for name, namespace in (("web-1", "default"), ("web-2", "ours")):
            seed_live.decision(scheduling, name, namespace=namespace)

    events = listened(client, scheduling, [act], "web-2", f"{before.isoformat()}/{uuid4()}")
    assert [data["name"] for name, data, _ in events if name == "decision"] == ["missed-2", "web-2"]
    page = client.get(f"/live/{scheduling.pk}/").content.decode()
    assert "data-stream" in page
    assert "web-1" not in page


@pytest.mark.django_db(transaction=True)
def test_a_stream_under_asgi_goes_on_telling(client_as: Callable[[str], Client], scheduling: LiveScheduler) -> None:
    acts = [lambda: seed_live.hosted(scheduling), lambda: seed_live.decision(scheduling, "web-1")]
    events = listened(client_as("viewer"), scheduling, acts, "web-1", "")
    assert [name for name, _, _ in events] == ["status", "status", "decision"]
    assert [data["state"] for name, data, _ in events if name == "status"] == ["Not hosted", "Scheduling"]
    assert Candidate.objects.count() == 2
