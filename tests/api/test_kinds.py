"""A classic policy is taken like any other but where only profiles can be meant; a policy file nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from rest_framework.test import APIClient

from kschedweb.jobs.models import Job
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies import services
from tests.support.seed_crane import FILE

if TYPE_CHECKING:
    from tests.api.conftest import Seed

pytestmark = pytest.mark.django_db

PATH = "priorities[LeastRequestedPriority].weight"
ACCEPTED: dict[str, tuple[str, Any]] = {
    "run": ("/api/v1/runs/start/", {"scenario": "SCENARIO", "policy": "old"}),
    "run of a document": ("/api/v1/runs/start/", {"scenario": "SCENARIO", "document": "kind: Policy"}),
    "comparison": (
        "/api/v1/comparisons/start/",
        {"scenario": "SCENARIO", "policies": ["default", "old@1"], "seeds": [1]},
    ),
    "sweep": (
        "/api/v1/sweeps/start/",
        {
            "scenario": "SCENARIO",
            "policy": "old",
            "space": [{"path": PATH, "from": 0, "to": 2}],
            "objectives": [{"measure": "skew_cpu"}],
            "seeds": [1],
        },
    ),
    "gate": ("/api/v1/gate/", {"policy": {"name": "old"}, "snapshot": {"cluster": "seed"}}),
    "gate of a document": ("/api/v1/gate/", {"policy": {"document": "kind: Policy"}, "snapshot": {"cluster": "seed"}}),
    "gate's baseline": (
        "/api/v1/gate/",
        {"policy": {"name": "default"}, "baseline": {"name": "old"}, "snapshot": {"cluster": "seed"}},
    ),
    "fit": ("/api/v1/capacity/fit/", {"cluster": "seed", "policy": "old", "pod": {"requests": {"cpu": "1"}}}),
    "nodes": (
        "/api/v1/capacity/nodes/",
        {"cluster": "seed", "policy": "old", "pod": {"requests": {"cpu": "1"}}, "copies": 2, "node": {"like": "NODE"}},
    ),
    "drain": ("/api/v1/capacity/drain/", {"cluster": "seed", "policy": "old", "nodes": ["NODE"]}),
}
REJECTED: dict[str, tuple[str, str, Any]] = {
    "gangs": (
        "/api/v1/capacity/gangs/",
        "policy",
        {"cluster": "seed", "policy": "old", "pod": {"requests": {"cpu": "1"}}, "pods": 2},
    ),
    "experiment": ("/api/v1/experiments/start/", "policies", {"policies": ["old@1"], "seeds": [1]}),
    "live": ("/api/v1/live/", "policy", {"cluster": "seed", "scheduler_name": "theirs", "policy": "old"}),
    "curves": ("/api/v1/load-aware/curves/?policy=old", "policy", None),
    "contest": ("/api/v1/clusters/seed/load-aware/?policy=old&pod=default/fits", "policy", None),
}
OFFERING_PAGES = ["/runs/new/", "/comparisons/new/", "/sweeps/new/", "/gate/"]


@pytest.fixture
def old(seed: Seed) -> Seed:
    services.policy_create(name="old", document="kind: Policy\napiVersion: v1\n", author=seed.admin)
    return seed


def fill_in(value: Any, old: Seed) -> Any:
    if isinstance(value, dict):
        return {key: fill_in(inner, old) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill_in(inner, old) for inner in value]
    return {"SCENARIO": old.scenario, "NODE": "a"}.get(value, value) if isinstance(value, str) else value


def request_with(address: str, body: Any, old: Seed) -> Any:
    client = APIClient(headers={"Authorization": f"Bearer {old.key}"})
    return client.get(address) if body is None else client.post(address, fill_in(body, old), format="json")


@pytest.mark.parametrize("kind", ACCEPTED)
def test_rest_takes_a_classic_policy(kind: str, old: Seed) -> None:
    answer = request_with(*ACCEPTED[kind], old)
    assert answer.status_code in (200, 201, 202), answer.content


def test_a_classic_policy_is_run_by_no_other_release(old: Seed) -> None:
    question = {"policy": {"name": "old", "release": "1.36"}, "snapshot": {"cluster": "seed"}}
    answer = request_with("/api/v1/gate/", question, old)
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"path": "policy.release", "message": 'release: must be "1.13" or "1.9", is "1.36"'}
    ]


@pytest.fixture
def crane(seed: Seed) -> Seed:
    services.policy_create(name="old", document=FILE, author=seed.admin)
    return seed


FIELDS = {"comparison": "policies", "gate": "policy.name", "gate's baseline": "baseline.name"}


@pytest.mark.parametrize("kind", [kind for kind in (*ACCEPTED, *REJECTED) if "document" not in kind])
def test_rest_refuses_a_policy_file_at_its_field(kind: str, crane: Seed) -> None:
    address, body = ACCEPTED[kind] if kind in ACCEPTED else REJECTED[kind][::2]
    field = REJECTED[kind][1] if kind in REJECTED else FIELDS.get(kind, "policy")
    answer = request_with(address, body, crane)
    assert answer.status_code == 422, answer.content
    assert answer.json()["detail"].startswith("old holds a DynamicSchedulerPolicy")
    assert [problem["path"] for problem in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("kind", REJECTED)
def test_rest_refuses_a_classic_policy_at_its_field(kind: str, old: Seed) -> None:
    address, field, body = REJECTED[kind]
    before = Job.objects.count(), LiveScheduler.objects.count()
    answer = request_with(address, body, old)
    assert answer.status_code == 422, answer.content
    assert answer.json()["detail"].startswith("old is a classic policy")
    assert [problem["path"] for problem in answer.json()["errors"]] == [field]
    assert (Job.objects.count(), LiveScheduler.objects.count()) == before


@pytest.mark.parametrize("address", [*OFFERING_PAGES, "/experiments/new/", "/live/new/"])
def test_forms_offer_what_they_take(address: str, old: Seed, client: Any) -> None:
    client.force_login(old.admin)
    page = client.get(address).content.decode().partition("<main")[2]
    assert "default" in page
    assert ('value="old' in page) is (address in OFFERING_PAGES)


@pytest.mark.parametrize("address", ["/capacity/", "/capacity/nodes/", "/capacity/drain/"])
def test_pages_of_capacity_take_a_classic_policy(address: str, old: Seed, client: Any) -> None:
    client.force_login(old.admin)
    page = client.get(f"{address}?policy=old")
    assert page.status_code == 200
    assert '<option value="old"' in page.content.decode()


@pytest.mark.parametrize("address", ["/capacity/gangs/", "/load-aware/"])
def test_pages_of_profiles_neither_offer_nor_take_a_classic_policy(address: str, old: Seed, client: Any) -> None:
    client.force_login(old.admin)
    assert client.get("/pods/?cluster=seed&policy=old").status_code == 200
    page = client.get(address)
    assert page.status_code == 200
    assert '<option value="old"' not in page.content.decode()
    rejection = client.get(f"{address}?policy=old")
    assert rejection.status_code == 422
    assert "convert it" in rejection.content.decode()
