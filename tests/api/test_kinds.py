"""A classic policy is refused, at its field, wherever only profiles can be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from rest_framework.test import APIClient

from kschedweb.jobs.models import Job
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies import services

if TYPE_CHECKING:
    from tests.api.conftest import Seed

pytestmark = pytest.mark.django_db

SPACE = [{"path": "profiles[0].plugins.score.enabled[NodeResourcesFit].weight", "values": [1, 2]}]
ASKED: dict[str, tuple[str, str, Any]] = {
    "run": ("/api/v1/runs/start/", "policy", {"scenario": "SCENARIO", "policy": "old"}),
    "comparison": (
        "/api/v1/comparisons/start/",
        "policies",
        {"scenario": "SCENARIO", "policies": ["default", "old@1"], "seeds": [1]},
    ),
    "sweep": (
        "/api/v1/sweeps/start/",
        "policy",
        {
            "scenario": "SCENARIO",
            "policy": "old",
            "space": SPACE,
            "objectives": [{"measure": "pending", "goal": "less"}],
            "seeds": [1],
        },
    ),
    "gate": ("/api/v1/gate/", "policy.name", {"policy": {"name": "old"}, "snapshot": {"cluster": "seed"}}),
    "gate's baseline": (
        "/api/v1/gate/",
        "baseline.name",
        {"policy": {"name": "default"}, "baseline": {"name": "old"}, "snapshot": {"cluster": "seed"}},
    ),
    "capacity": (
        "/api/v1/capacity/fit/",
        "policy",
        {"cluster": "seed", "policy": "old", "pod": {"requests": {"cpu": "1"}}},
    ),
    "experiment": ("/api/v1/experiments/start/", "policies", {"policies": ["old@1"], "seeds": [1]}),
    "live": ("/api/v1/live/", "policy", {"cluster": "seed", "scheduler_name": "theirs", "policy": "old"}),
    "curves": ("/api/v1/load-aware/curves/?policy=old", "policy", None),
    "contest": ("/api/v1/clusters/seed/load-aware/?policy=old&pod=default/fits", "policy", None),
}


@pytest.fixture
def old(seed: Seed) -> Seed:
    services.policy_create(name="old", document="kind: Policy\napiVersion: v1\n", author=seed.admin)
    return seed


@pytest.mark.parametrize("what", ASKED)
def test_rest_refuses_a_classic_policy_at_its_field(what: str, old: Seed) -> None:
    address, field, body = ASKED[what]
    client = APIClient(headers={"Authorization": f"Bearer {old.key}"})
    before = Job.objects.count(), LiveScheduler.objects.count()
    if body is None:
        answer = client.get(address)
    else:
        body = {key: old.scenario if value == "SCENARIO" else value for key, value in body.items()}
        answer = client.post(address, body, format="json")
    assert answer.status_code == 422, answer.content
    assert answer.json()["detail"].startswith("old is ")
    assert [problem["path"] for problem in answer.json()["errors"]] == [field]
    assert (Job.objects.count(), LiveScheduler.objects.count()) == before


@pytest.mark.parametrize(
    "address", ["/runs/new/", "/comparisons/new/", "/experiments/new/", "/sweeps/new/", "/gate/", "/live/new/"]
)
def test_forms_offer_profiles_only(address: str, old: Seed, client: Any) -> None:
    client.force_login(old.admin)
    page = client.get(address).content.decode().partition("<main")[2]
    assert "default" in page
    assert 'value="old' not in page


@pytest.mark.parametrize(
    "address", ["/capacity/", "/capacity/gangs/", "/capacity/nodes/", "/capacity/drain/", "/watermarks/policies/"]
)
def test_pages_of_profiles_neither_offer_nor_take_a_classic_policy(address: str, old: Seed, client: Any) -> None:
    client.force_login(old.admin)
    assert client.get("/pods/?cluster=seed&policy=old").status_code == 200
    remembered = client.get(address)
    assert remembered.status_code == 200
    assert '<option value="old"' not in remembered.content.decode()
    refused = client.get(f"{address}?policy=old")
    assert refused.status_code == 422
    assert "convert it" in refused.content.decode()
