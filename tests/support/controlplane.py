"""A real etcd and kube-apiserver on loopback, with users of different rights."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import urllib3

from kschedweb.engine.config import Release
from kschedweb.engine.json_types import Json
from tests.support.certificates import rsa_key
from tests.support.kubescheduler import release_of
from tests.support.needs import missing
from tests.support.processes import Server, free_port, wait_until

# user -> token; admin may do everything, the others what a test grants them.
TOKENS = {name: f"{name}-token-for-tests" for name in ("admin", "reader", "limited", "stranger")}
READ_EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]


class ControlPlane:
    """One running API server: ``url``, ``ca`` (PEM text), ``tokens`` by user name, and calls as any user."""

    def __init__(self, assets: Path, folder: Path, *, audit: Json | None = None, flags: Sequence[str] = ()) -> None:
        """``audit`` is the policy by which calls are recorded in ``audit_log``, ``None`` records nothing.

        ``flags``: more of the API server's.
        """
        self.assets = assets
        self.flags = flags
        self.folder = folder
        self.audit = audit
        self.audit_log = folder / "audit.log"
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.tokens = TOKENS
        self.command: list[str] = []  # how the API server was started

    @functools.cached_property
    def release(self) -> Release:
        """The release that the API server is, and the kube-scheduler beside it."""
        return release_of(self.assets)

    @property
    def ca(self) -> str:
        """The certificate authority of the serving certificate."""
        return (self.folder / "certs" / "apiserver.crt").read_text()

    @functools.cached_property
    def _http(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(ca_cert_data=self.ca, maxsize=8, block=True)

    @contextlib.contextmanager
    def started(self) -> Iterator[ControlPlane]:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        key = str(self.folder / "sa.key")
        rsa_key(Path(key))
        groups = {"admin": "system:masters"}
        rows = [f"{token},{user},{user},{groups.get(user, '')}".rstrip(",") for user, token in self.tokens.items()]
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        etcd = [
            str(self.assets / "etcd"), "--data-dir", str(self.folder / "etcd"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--unsafe-no-fsync", "--log-level", "error",
        ]  # fmt: skip
        apiserver = [
            str(self.assets / "kube-apiserver"), "--etcd-servers", client,
            "--bind-address", "127.0.0.1", "--secure-port", str(self.port), "--cert-dir", str(self.folder / "certs"),
            "--service-account-key-file", key, "--service-account-signing-key-file", key,
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--token-auth-file", str(self.folder / "tokens.csv"), "--authorization-mode", "RBAC",
            "--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount",
            "--allow-privileged", *self._audit(), *self.flags,
        ]  # fmt: skip
        self.command = apiserver
        self.etcd = Server(etcd, self.folder / "etcd.log")
        self.apiserver = Server(apiserver, self.folder / "apiserver.log")
        self.etcd.start()
        try:
            self.start_apiserver()
            yield self
        finally:
            # Nobody needs what they hold any more, and the API server would wait for watches that are still open.
            self.apiserver.kill()
            self.etcd.kill()

    def start_apiserver(self) -> None:
        """Start the API server, for the first time or again, and wait until it answers."""
        server = self.apiserver
        server.start()
        wait_until(lambda: not server.alive or self.ready(), "kube-apiserver ready", step=0.1)
        if not server.alive:
            raise RuntimeError(server.log.read_text()[-2000:])

    def _audit(self) -> list[str]:
        if self.audit is None:
            return []
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(self.audit))
        whole = ["--audit-log-maxsize", "100000"]  # MB, where 100 would be usual before another file is begun
        return ["--audit-policy-file", str(policy), "--audit-log-path", str(self.audit_log), *whole]

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz").status == 200
        except (FileNotFoundError, urllib3.exceptions.HTTPError):
            return False

    def request(self, method: str, path: str, body: object = None, user: str = "admin") -> urllib3.BaseHTTPResponse:
        """One call, any status."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self._http.request(
            method,
            self.url + path,
            body=None if body is None else json.dumps(body),
            headers={"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": kind},
            retries=False,
            timeout=30,
        )

    def call(self, method: str, path: str, body: object = None, user: str = "admin") -> Json:
        """One call that must succeed; the answer's JSON."""
        answer = self.request(method, path, body, user)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:500]!r}")
        document: Json = answer.json()
        return document

    def parallel(self, do: Callable[[Any], object], items: Iterable[Any]) -> None:
        """``do`` each of ``items``, eight at a time; the first error is raised."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(do, items))

    def create_all(self, path: str, objects: Iterable[Json]) -> None:
        """Create ``objects`` under the collection ``path``."""
        self.parallel(lambda item: self.call("POST", path, item), objects)

    def create_nodes(self, nodes: Iterable[Json]) -> None:
        """Create nodes with their status, and without the not-ready taint that admission adds."""

        def create(node: Json) -> None:
            path = f"/api/v1/nodes/{node['metadata']['name']}"
            created = self.call("POST", "/api/v1/nodes", node)
            taints = node.get("spec", {}).get("taints", [])
            if created["spec"].get("taints", []) != taints:
                self.call("PATCH", path, {"spec": {"taints": taints or None}})
            if node.get("status"):
                self.call("PATCH", f"{path}/status", {"status": node["status"]})

        self.parallel(create, nodes)

    def bind(self, namespace: str, pod: str, node: str) -> None:
        """Bind a pending pod, as a scheduler would."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", body)

    def grant(self, user: str, rules: list[Json]) -> None:
        """Give ``user`` exactly ``rules`` in the whole cluster."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        for path in (f"{rbac}/clusterrolebindings/{user}", f"{rbac}/clusterroles/{user}"):
            self.request("DELETE", path)
        group = "rbac.authorization.k8s.io"
        role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules}
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
            "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
        }
        self.call("POST", f"{rbac}/clusterroles", role)
        self.call("POST", f"{rbac}/clusterrolebindings", binding)

    def wipe(self) -> None:
        """Delete every node, pod, claim, volume and storage class, at once."""
        for namespace in self.call("GET", "/api/v1/namespaces")["items"]:
            path = f"/api/v1/namespaces/{namespace['metadata']['name']}/pods"
            self.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        self.call("DELETE", "/api/v1/nodes")
        # Of the pods, those are left that a finalizer holds.
        for kind in ("v1/pods", "v1/persistentvolumeclaims", "v1/persistentvolumes"):
            for item in self.call("GET", f"/api/{kind}")["items"]:
                metadata = item["metadata"]
                folder = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
                path = f"/api/{kind.replace('/', '/' + folder)}/{metadata['name']}"
                self.request("PATCH", path, {"metadata": {"finalizers": None}})
                self.request("DELETE", path)
        self.call("DELETE", "/apis/storage.k8s.io/v1/storageclasses")


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of etcd, kube-apiserver, kube-scheduler, kwok and oracle (``KUBEBUILDER_ASSETS``)."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        missing("set KUBEBUILDER_ASSETS to the folder of the test control plane")
    if not (Path(folder) / "kube-apiserver").exists():
        missing("KUBEBUILDER_ASSETS holds no kube-apiserver")
    return Path(folder)


@pytest.fixture(scope="session")
def real_release(assets: Path) -> Release:
    """The release that the programs in ``assets`` are: what is compared with their answers is asked as this one."""
    return release_of(assets)


@pytest.fixture(scope="module")
def control_plane(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """The API server of this pytest process, which each module finds without nodes, pods and volumes."""
    yield api_server
    api_server.wipe()


@pytest.fixture(scope="session")
def api_server(assets: Path) -> Iterator[ControlPlane]:
    """``reader`` may read everything, the others nothing yet."""
    with (
        tempfile.TemporaryDirectory(prefix="kschedweb-control-plane-") as folder,
        ControlPlane(assets, Path(folder)).started() as plane,
    ):
        plane.grant("reader", READ_EVERYTHING)
        yield plane
