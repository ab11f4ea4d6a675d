"""A shadow beside the real kube-scheduler: hosted as in production, it judges each pod that kube-scheduler places."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pytest_django import Settings

from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.rbac import SHADOW, Needs, policy_rules, rights_for
from kschedweb.live.schedulers.running.host import Host
from kschedweb.live.schedulers.selectors import release_in_force
from kschedweb.live.shadow import selectors
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.policies.models import Policy
from kschedweb.policies.services import policy_create
from tests.live.test_clusters_live import by_token
from tests.live.test_extender_endpoint_live import EMPTY, Pasted
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]

NODES, PODS = 12, 40
PACKING = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}


def node(number: int) -> dict[str, Any]:
    """Every third one is larger, every fourth tainted lightly, in three zones."""
    name, large = f"node-{number:02}", number % 3 == 0
    allocatable = {"cpu": "8" if large else "4", "memory": "16Gi" if large else "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    taints = [{"key": "spot", "effect": "PreferNoSchedule"}] if number % 4 == 0 else []
    metadata = {"name": name, "labels": labels}
    kind = {"apiVersion": "v1", "kind": "Node"}
    return {**kind, "metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": allocatable}}


def pod(number: int) -> dict[str, Any]:
    requests = {"cpu": ("100m", "500m", "1500m")[number % 3], "memory": ("64Mi", "2Gi", "512Mi", "1Gi")[number % 4]}
    container = {"name": "main", "image": "web:1", "resources": {"requests": requests}}
    labels = {"app": f"app-{number % 4}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "labels": labels},
        "spec": {"containers": [container]},
    }


@pytest.fixture
def plane(control_plane: ControlPlane, settings: Settings) -> Iterator[ControlPlane]:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    control_plane.grant("limited", policy_rules(rights_for(Needs(SHADOW))))
    control_plane.create_nodes(node(number) for number in range(NODES))
    yield control_plane
    control_plane.wipe()


@pytest.fixture
def shadows(plane: ControlPlane) -> dict[str, LiveScheduler]:
    """The cluster twice: once under kube-scheduler's defaults, once under a policy that packs."""
    document = EMPTY | {"profiles": [{"pluginConfig": [PACKING]}]}
    policies = {
        "default": Policy.objects.get(name="default"),
        "packing": policy_create(author=None, name="packing", document=yaml.safe_dump(document)),
    }
    return {
        name: services.live_create(
            user=None,
            cluster=by_token(plane, "limited", name=name)[0],
            scheduler_name="default-scheduler",
            policy=policy,
            mode=Mode.SHADOW,
        )
        for name, policy in policies.items()
    }


@contextlib.contextmanager
def hosted() -> Iterator[Host]:
    host = Host()
    host.start()
    try:
        yield host
    finally:
        host.stop()


def test_it_agrees_with_kube_scheduler_under_the_same_policy_and_not_under_another(
    plane: ControlPlane, shadows: dict[str, LiveScheduler]
) -> None:
    same, packing = shadows["default"], shadows["packing"]
    with kube_scheduler(plane, EMPTY), contextlib.closing(PodWatch(plane)) as watch, hosted():
        wait_until(lambda: Candidate.objects.filter(synced=True).count() == 2, "both shadows know the cluster")
        stock = Pasted(plane, watch)
        # One after the other, so that the cluster is for the shadow what it was for kube-scheduler.
        nodes = {f"pod-{number}": stock.create(pod(number))["spec"]["nodeName"] for number in range(PODS)}
        impossible = pod(PODS) | {"spec": {**pod(PODS)["spec"], "nodeSelector": {"kubernetes.io/hostname": "nowhere"}}}
        message = stock.create(impossible)["status"]["conditions"][0]["message"]
        judged = 2 * (PODS + 1)
        wait_until(lambda: ShadowVerdict.objects.count() == judged, "every pod was judged by both")

    whole = selectors.compute_summary(same, "1h")
    assert (whole.agree, whole.mean, whole.most) == (100.0, 0.0, 0), list(
        same.shadow_verdicts.exclude(verdict="agree").values("name", "node", "best", "difference", "plugin")
    )
    placed = same.shadow_verdicts.exclude(node="")
    assert {row.name: row.node for row in placed} == nodes
    assert all(row.node in row.best or row.ties > len(row.best) for row in placed)
    (stuck,) = same.shadow_verdicts.filter(node="")
    assert stuck.said == message
    assert message.startswith(stuck.message)

    drift = selectors.compute_summary(packing, "1h")
    assert drift.agree is not None
    assert drift.agree < 50.0
    causes = [cause for cause in selectors.list_causes(packing, "1h") if cause.verdict == "differ"]
    assert causes[0].plugin == "NodeResourcesFit"
    assert causes[0].mean is not None
    assert causes[0].mean > 1.0
    assert not ShadowVerdict.objects.filter(late=True).exists()
    assert {row.engine for row in placed} == {release_in_force(same).engine}
