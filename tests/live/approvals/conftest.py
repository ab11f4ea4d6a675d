"""Requests without a cluster: a live scheduler's row, and pods that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.live.approvals import services
from kschedweb.live.approvals.models import ApprovalRequest
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies.models import Policy

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

HOUR = 3600.0


def asking(**fields: Any) -> dict[str, Any]:
    """Build the demands of HumanApproval, with ``fields`` instead of the defaults."""
    plain = {
        "rules": ["production"],
        "approvals": [{"role": "approver", "count": 1}],
        "seconds": HOUR,
        "onTimeout": "Deny",
        "ownPods": "Allow",
        "createdBy": "",
        "reason": "Production is looked after.",
        "why": ["it is in namespace default"],
        "margin": 4,
        "priority": 0,
        "usage": {"15m": {"cpu": 61.5, "memory": None}},
        "node": {"cpu": [1500, 4000], "memory": [2147483648, 8589934592], "pods": [3, 110]},
    }
    return plain | fields


def deciding(pod: str, node: str = "node-1") -> dict[str, Any]:
    """A decision as it is stored: two nodes, the chosen one four points ahead."""
    top = [
        {"node": node, "total": 464, "scores": {"NodeResourcesFit": 90, "ImageLocality": 4}},
        {"node": "node-2", "total": 460, "scores": {"NodeResourcesFit": 86, "ImageLocality": 4}},
    ]
    return {"pod": pod, "node": node, "evaluated": 3, "feasible": 2, "top": top, "margin": 4, "time": 1795240800.0}


def scheduler_row(name: str = "held", scheduler: str = "kschedweb") -> LiveScheduler:
    cluster, _ = Cluster.objects.get_or_create(
        name=name, defaults={"source": ClusterSource.TOKEN, "server": "https://192.0.2.1:6443"}
    )
    policy = Policy.objects.get(name="default")
    return LiveScheduler.objects.create(cluster=cluster, scheduler_name=scheduler, policy=policy, mode="scheduling")


def hold(live: LiveScheduler, name: str = "web-1", **fields: Any) -> ApprovalRequest:
    """A pod that ``live`` holds, as the gate stores it; ``fields`` go to the request or to what is asked."""
    defaults: dict[str, Any] = {
        "node": "node-1",
        "uid": f"uid-{name}",
        "namespace": "default",
        "seconds": HOUR,
        "epoch": 1,
        "decision_id": f"decision-{name}",
    }
    for key in defaults:
        defaults[key] = fields.pop(key, defaults[key])
    request = services.request_open(
        scheduler=live,
        name=name,
        plugin="HumanApproval",
        decision=deciding(f"{defaults['namespace']}/{name}", str(defaults["node"])),
        ask=asking(**fields),
        **defaults,
    )
    assert request is not None
    return request


@pytest.fixture
def live(db: None) -> LiveScheduler:
    return scheduler_row()


@pytest.fixture
def hold_pod(live: LiveScheduler) -> Callable[..., ApprovalRequest]:
    """``held("web-1", seconds=60)``: a request for a pod of that name."""
    return lambda name="web-1", **fields: hold(live, name, **fields)


@pytest.fixture
def second(db: None) -> User:
    """Another approver."""
    from kschedweb.accounts.models import User

    return User.objects.create_user(username="second", password="x", role="approver", email="second@example.com")
