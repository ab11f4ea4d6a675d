"""Policies of both kinds made from a ConfigMap of the real API server, with the one right that is printed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from django.core.management import call_command
from pytest_django import Settings

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.clusters.services import cluster_connect
from kschedweb.policies import selectors
from kschedweb.policies.models import Policy
from tests.support.printed import WATER_LEVEL
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]

MAPS = "/api/v1/namespaces/kube-system/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system"
POLICIES = "/api/v1/policies/"
DOCUMENT = '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "EqualPriority", "weight": 3}]}\n'


@pytest.fixture
def plane(control_plane: ControlPlane, settings: Settings) -> Iterator[ControlPlane]:
    """ConfigMaps, and a user who may read the cluster and one of them, by its name."""
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    broken = '{"kind": "Policy", "priorities": [{"name": "Nope"}]}'
    texts = {"old": {"policy.cfg": DOCUMENT, "broken": broken, "scheduler.yaml": WATER_LEVEL}}
    for name, data in (texts | {"other": {}}).items():
        control_plane.request("POST", MAPS, {"metadata": {"name": name}, "data": data})
    control_plane.grant("limited", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
    printed = StringIO()
    call_command("rbac", "--config-map", "kube-system/old", stdout=printed)
    role, binding = yaml.safe_load_all(printed.getvalue())
    binding["subjects"] = [{"kind": "User", "name": "limited", "apiGroup": "rbac.authorization.k8s.io"}]
    control_plane.call("POST", f"{ROLES}/roles", role)
    control_plane.call("POST", f"{ROLES}/rolebindings", binding)

    def allowed() -> bool:
        return control_plane.request("GET", f"{MAPS}/old", user="limited").status == 200

    wait_until(allowed, "the role takes effect", step=0.1)
    endpoint: dict[str, Any] = {"server": control_plane.url, "ca": control_plane.ca}
    cluster_connect(user=None, name="real", source="token", token=control_plane.tokens["limited"], **endpoint)
    yield control_plane
    control_plane.call("DELETE", f"{ROLES}/roles/{role['metadata']['name']}")
    control_plane.call("DELETE", f"{ROLES}/rolebindings/{binding['metadata']['name']}")
    for name in ("old", "other"):
        control_plane.call("DELETE", f"{MAPS}/{name}")


def test_a_policy_is_made_from_a_config_map_or_refused_with_the_reason(
    plane: ControlPlane, api_as: Callable[[str], APIClient], client_as: Callable[[str], Client]
) -> None:
    api = api_as("editor")
    response = api.post(POLICIES, {"name": "old", "source": {"cluster": "real", "name": "old"}})
    assert (response.status_code, response.json()["kind"]) == (201, "classic")
    revision = selectors.revision_get(selectors.policy_get("old"))
    origin = "ConfigMap kube-system/old of cluster real, key policy.cfg"
    assert (revision.document, revision.comment) == (DOCUMENT, f"From {origin}")
    assert AuditEntry.objects.filter(verb="policy.created", details__source=origin).exists()

    response = api.post(
        POLICIES, {"name": "water", "source": {"cluster": "real", "name": "old", "key": "scheduler.yaml"}}
    )
    assert (response.status_code, response.json()["kind"], response.json()["revision"]) == (201, "profiles", 2)
    assert selectors.revision_get(selectors.policy_get("water"), 1).document == WATER_LEVEL

    Cluster.objects.create(name="stored", source=ClusterSource.IMPORT)
    for source, status, field, message in (
        ({"name": "old", "key": "policy"}, 422, "key", 'missing policy config map value at key "policy"'),
        ({"name": "other"}, 502, "name", "may not read ConfigMap other in namespace kube-system (403)"),
        ({"name": "old", "namespace": "default"}, 502, "name", "may not read ConfigMap old in namespace default"),
        ({"name": "../pods"}, 400, "name", "is not the name of a ConfigMap"),
        ({"name": "old", "cluster": "none"}, 404, "cluster", "There is no cluster none"),
        ({"name": "old", "cluster": "stored"}, 409, "cluster", "is not connected"),
    ):
        answer = api.post(POLICIES, {"name": "new-one", "source": {"cluster": "real"} | source})
        body = answer.json()
        assert (answer.status_code, [error["path"] for error in body["errors"]]) == (status, [f"source.{field}"]), body
        assert message in body["detail"]
    broken = api.post(POLICIES, {"name": "new-one", "source": {"cluster": "real", "name": "old", "key": "broken"}})
    assert broken.status_code == 422
    assert broken.json()["errors"][0]["line"] == 1
    plane.grant("limited", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
    page = client_as("editor")
    form = {"name": "new-one", "source_cluster": "real", "source_name": "gone", "version": "1.13"}

    def is_missing() -> bool:
        return "has no ConfigMap gone in namespace kube-system" in page.post("/policies/new/", form).content.decode()

    wait_until(is_missing, "the wider role takes effect", step=0.1)
    assert not Policy.objects.filter(name="new-one").exists()
    assert page.post("/policies/new/", form | {"source_name": "old", "version": "1.9"}).status_code == 302
    assert selectors.revision_get(selectors.policy_get("new-one")).process == {"version": "1.9"}
