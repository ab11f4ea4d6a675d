"""Requests made from the OpenAPI schema, sane and broken ones, against the application and a real database.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many requests an operation gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from schemathesis.config import SchemathesisConfig

from tests.support import tiers

SEED = tiers.seed()
EXAMPLES = tiers.count(2, 30)

CONFIG = {
    "seed": SEED,
    "generation": {"mode": "all", "max-examples": EXAMPLES, "no-shrink": True, "with-security-parameters": False},
    "phases": {"coverage": {"enabled": tiers.NIGHTLY}, "stateful": {"enabled": False}},
    "checks": {
        # DRF reads 0 as "0" and "" as no filter; and no schema says which documents kube-scheduler takes.
        "negative_data_rejection": {"enabled": False},
        "positive_data_acceptance": {"enabled": False},
    },
    "continue-on-failure": True,
}

schema = schemathesis.pytest.from_fixture("api_schema")


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Keep the test's connection, and so its transaction, over requests, as Django's own test client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def api_schema(seed, one_connection, monkeypatch):
    print(f"HUNT_SEED={SEED}")
    # As many requests as a run makes are no attack here.
    for throttle in ("CallerThrottle", "StrangerThrottle"):
        monkeypatch.setattr(f"kschedweb.accounts.authentication.{throttle}.rate", "1000000/min", raising=False)
    schema = schemathesis.openapi.from_wsgi(
        "/api/v1/schema/",
        get_wsgi_application(),
        config=SchemathesisConfig.from_dict(CONFIG),
        headers={"Authorization": f"Bearer {seed.key}", "Accept": "application/json"},
    )
    real = {
        "clusters": {
            "name": "seed",
            "id": str(seed.snapshot.pk),
            "namespace": "default",
            "pod": "pending",
            "group": "gang",
        },
        "policies": {"name": "default", "number": 1},
        "scenarios": {"scenario_id": seed.scenario, "number": 1, "name": "nodes.csv"},
        "experiments": {"id": str(seed.experiment.pk)},
        "runs": {"id": seed.run},
        "comparisons": {"id": seed.comparison},
        "sweeps": {"id": seed.sweep},
        "recordings": {"id": seed.recording},
        "gate": {"id": seed.gate},
        "moves": {"id": seed.moves},
        "trying": {"id": seed.tried_change},
        "capacity": {"id": seed.capacity},
        "autoscaling": {"id": seed.autoscaling},
        "descheduling": {"id": seed.evicting},
        "plans": {"id": seed.planned},
        "fleet": {"id": seed.fleet},
        "decisions": {"id": seed.decided[0]},
        "jobs": {"id": str(seed.job.pk)},
        "approvals": {"id": str(seed.approval.pk)},
        "live": {"id": str(seed.decision.scheduler_id), "decision": str(seed.decision.pk)},
        "lists": {"name": "pods"},
        "views": {"id": seed.view},
        "webhooks": {"id": str(seed.webhook.pk)},
        "grants": {"id": str(seed.grant)},
        "repositories": {"name": "seed"},
        "tokens": {"id": seed.token.pk},
        "users": {"username": "admin"},
        "sandbox": {"kind": "Node", "namespace": "-", "name": "general-a-1"},
    }

    @schema.hook
    def map_path_parameters(context: Any, path_parameters: dict[str, Any]) -> dict[str, Any]:
        """Half of the reads go to what exists; what changes something meets it by other tests."""
        operation = context.operation
        if operation.method.upper() != "GET" or not path_parameters or len(str(path_parameters)) % 2:
            return path_parameters
        return path_parameters | {k: v for k, v in real[operation.path.split("/")[3]].items() if k in path_parameters}

    return schema


@schema.parametrize()
def test_every_answer_is_as_the_schema_says_and_none_is_a_server_error(case, seed):
    case.call_and_validate(headers={"Authorization": f"Bearer {seed.key}"})
