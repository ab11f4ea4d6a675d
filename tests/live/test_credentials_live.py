"""Credentials that are replaced under those who use them: tokens of the real API server, ended for good."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.openers import Opener, get_opener, renew_opener
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.clusters.services import cluster_connect
from tests.support import seed
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from pytest_django import Settings
    from rest_framework.test import APIClient

    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

CORE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
numbers = itertools.count()


class Account:
    """A service account that may do everything, and tokens that end with the secret they are bound to."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        plane.request("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "rotating"}})
        subject = {"kind": "ServiceAccount", "name": "rotating", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        plane.request("POST", RBAC, {"metadata": {"name": "rotating"}, "roleRef": role, "subjects": [subject]})

    def token(self) -> tuple[str, Callable[[], None]]:
        """A token, and what makes it invalid: it waits until the server refuses it."""
        name = f"bound-{next(numbers)}"
        secret = self.plane.call("POST", f"{CORE}/secrets", {"metadata": {"name": name}})
        bound = {"kind": "Secret", "apiVersion": "v1", "name": name, "uid": secret["metadata"]["uid"]}
        spec = {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}}
        token = self.plane.call("POST", f"{CORE}/serviceaccounts/rotating/token", spec)["status"]["token"]
        self.plane.tokens = self.plane.tokens | {name: token}

        def end() -> None:
            self.plane.call("DELETE", f"{CORE}/secrets/{name}")
            wait_until(lambda: self.plane.request("GET", "/api", user=name).status == 401, "the token ended", step=0.2)

        return token, end


@pytest.mark.nightly
def test_a_token_that_the_kubelet_replaced_is_read_anew(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    account = Account(control_plane)
    token, end = account.token()
    (tmp_path / "token").write_text(token)
    (tmp_path / "ca.crt").write_text(control_plane.ca)
    monkeypatch.setattr(sources, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(control_plane.port))
    opener = Opener(Cluster(name="here", source=ClusterSource.IN_CLUSTER))
    news: list[Any] = []
    reflector = Reflector(opener.open, BY_NAME["Node"], news.append, watch_seconds=(1.0, 1.1))
    with opener.open() as client:
        assert client.send("GET", "/api/v1/nodes").code == 200
        reflector.start()
        wait_until(lambda: reflector.synced, "listed")
        (tmp_path / "token").write_text(account.token()[0])
        end()
        # What writes, and what reads.
        assert client.send("GET", "/api/v1/nodes").code == 200
        assert isinstance(client.get("/api/v1/nodes"), dict)
        control_plane.create_nodes([seed.node("later")])
        wait_until(lambda: any(isinstance(event, Changed) for event in news), "a change is heard of")
    reflector.end()
    assert [event.reason for event in news if isinstance(event, Listed)] == ["start"]
    control_plane.wipe()


def test_only_credentials_that_open_the_same_server_replace_what_is_stored(
    control_plane: ControlPlane, api_as: Callable[[str], APIClient], settings: Settings
) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    admin, address = api_as("admin"), "/api/v1/clusters/real/credentials/"
    token, ca = control_plane.tokens["admin"], control_plane.ca
    cluster_connect(user=None, name="real", source="token", server=control_plane.url, token=token, ca=ca)
    cluster = Cluster.objects.get(name="real")
    follows = get_opener(cluster)
    assert admin.put(address, {"token": "wrong"}).status_code >= 400
    assert admin.put(address, {}).data["errors"][0]["path"] == "token"
    elsewhere = yaml.safe_dump(kubeconfig_of("https://127.0.0.1:1", token))
    assert admin.put(address, {"kubeconfig": elsewhere}).data["errors"][0]["path"] == "kubeconfig"
    renew_opener(cluster)
    assert follows.secret().token == sources.secret_of(cluster).token == token
    assert api_as("editor").put(address, {"token": token}).status_code == 403
    other, _ = Account(control_plane).token()
    assert admin.put(address, {"token": other}).status_code == 204
    renew_opener(cluster)
    assert follows.secret().token == other
    assert follows.secret().ca == ca.strip()
    entry = AuditEntry.objects.get(verb="cluster.credentials_replaced")
    assert other not in str(entry.__dict__)


def kubeconfig_of(server: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
