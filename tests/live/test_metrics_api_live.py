"""Figures from metrics.k8s.io, asked through a real API server that hands the question on to an aggregated one.

The aggregated server is a stand-in for metrics-server, which needs kubelets: it serves the same API with values that
the test knows. The way there (APIService, discovery, proxying, rights) is the API server's own.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings as DjangoSettings

from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import selectors, services
from kschedweb.watermarks.source_settings import SourceSettings
from kschedweb.web.errors import ApplicationError
from tests.support.certificates import certificate
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]

GROUP = "metrics.k8s.io"
ROOT = f"/apis/{GROUP}/v1beta1"
REGISTRATION = "/apis/apiregistration.k8s.io/v1/apiservices"
MIB = 1024**2
FROM_METRICS = SourceSettings(kind=GROUP, interval=30)


class MetricsServer:
    """Answers of a metrics-server: ``nodes`` and ``pods`` by name, as cores and MiB."""

    def __init__(self, folder: Path) -> None:
        self.nodes: dict[str, tuple[float, int]] = {}
        self.pods: dict[str, tuple[float, int]] = {}
        self.age = 5.0  # seconds
        certificate_file = certificate(folder, "metrics", host="localhost")
        outer = self

        class MetricsHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = json.dumps(outer.answer(self.path.partition("?")[0])).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), MetricsHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate_file, certificate_file.with_suffix(".key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port: int = self.server.server_address[1]

    def answer(self, path: str) -> dict[str, Any]:
        if path == ROOT:
            resources = [
                {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind, "verbs": ["get", "list"]}
                for name, kind in (("nodes", "NodeMetrics"), ("pods", "PodMetrics"))
            ]
            return {
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1beta1",
                "resources": resources,
            }  # fmt: skip
        stamp = datetime.fromtimestamp(time.time() - self.age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        moment = {"timestamp": stamp, "window": "15s"}

        def usage(cores: float, mebibytes: int) -> dict[str, str]:
            return {"cpu": f"{round(cores * 1e9)}n", "memory": f"{mebibytes * 1024}Ki"}

        items: list[Any]
        if path == f"{ROOT}/nodes":
            items = [{"metadata": {"name": name}, **moment, "usage": usage(*use)} for name, use in self.nodes.items()]
        else:
            items = [
                {
                    "metadata": {"name": name, "namespace": "default"},
                    **moment,
                    "containers": [{"name": "main", "usage": usage(*use)}, {"name": "side", "usage": usage(0, 0)}],
                }
                for name, use in self.pods.items()
            ]
        return {"kind": "List", "apiVersion": f"{GROUP}/v1beta1", "metadata": {}, "items": items}


@pytest.fixture
def metrics(control_plane: ControlPlane, tmp_path: Path) -> Iterator[MetricsServer]:
    """The stand-in, registered with the API server under metrics.k8s.io."""
    server = MetricsServer(tmp_path)
    thread = threading.Thread(target=server.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    # A service that is an external name is what the API server reaches without any pod.
    service = {"metadata": {"name": "metrics"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    spec = {
        "group": GROUP,
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "metrics", "namespace": "default", "port": server.port},
    }
    control_plane.call("POST", "/api/v1/namespaces/default/services", service)
    control_plane.call("POST", REGISTRATION, {"metadata": {"name": f"v1beta1.{GROUP}"}, "spec": spec})

    def available() -> bool:
        status = control_plane.call("GET", f"{REGISTRATION}/v1beta1.{GROUP}").get("status", {})
        return any(entry["type"] == "Available" and entry["status"] == "True" for entry in status.get("conditions", []))

    try:
        wait_until(available, "the aggregated API is available")
        yield server
    finally:
        control_plane.request("DELETE", f"{REGISTRATION}/v1beta1.{GROUP}")
        control_plane.request("DELETE", "/api/v1/namespaces/default/services/metrics")
        server.server.shutdown()
        server.server.server_close()
        thread.join()


def connected(control_plane: ControlPlane, user: str = "reader") -> Cluster:
    credentials = {"server": control_plane.url, "token": control_plane.tokens[user], "ca": control_plane.ca}
    cluster, _ = clusters.cluster_connect(user=None, name="metered", source="token", **credentials)
    clusters.snapshot_read(cluster=cluster, step=lambda *_: None)
    return cluster


@pytest.fixture
def plane(control_plane: ControlPlane, settings: DjangoSettings) -> Iterator[ControlPlane]:
    """Two nodes of 4 and 2 cores, and two pods of one StatefulSet."""
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    amounts = {"cpu": "4", "memory": "1Gi", "pods": "110"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    control_plane.create_nodes(
        [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name},
                "status": {"capacity": amounts, "allocatable": {**amounts, "cpu": cores}, **ready},
            }
            for name, cores in (("node-a", "4"), ("node-b", "2"))
        ]
    )
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1", "controller": True}
    spec = {"containers": [{"name": "main", "image": "db:1"}]}
    control_plane.create_all(
        "/api/v1/namespaces/default/pods",
        [{"metadata": {"name": f"db-{index}", "ownerReferences": [owner]}, "spec": spec} for index in range(2)],
    )
    yield control_plane
    control_plane.wipe()


def run(cluster: Cluster, at: float) -> str:
    source = services.run_claim(cluster_id=cluster.pk, now=at, due_only=False)
    assert source is not None
    services.run_collection(source=source, now=at)
    return selectors.source_get(cluster).error


def column(cluster: Cluster, statistic: str, resource: str = "cpu") -> list[float]:
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    return [round(value, 3) for value in watermarks.column(resource, statistic).tolist()]


def test_windows_are_kept_of_what_the_api_says_at_each_moment(plane: ControlPlane, metrics: MetricsServer) -> None:
    cluster = connected(plane)
    metrics.nodes = {"node-a": (1.0, 512), "node-b": (1.0, 256), "gone": (9.0, 1)}
    metrics.pods = {"db-0": (0.5, 100), "db-1": (0.7, 300)}
    services.source_save(user=None, cluster=cluster, settings=FROM_METRICS)
    begin = time.time() - 60
    assert run(cluster, begin) == ""
    metrics.nodes |= {"node-a": (3.0, 512)}
    assert run(cluster, begin + 30) == ""
    # node-a used 1 of its 4 cores, then 3; node-b 1 of 2.
    for statistic in ("5m", "15m", "1h", "1d"):
        assert column(cluster, statistic) == [50, 50]
    assert column(cluster, "15m_std") == [25, 0]
    assert column(cluster, "15m", "memory") == [50, 25]
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    assert watermarks.source == GROUP
    use = watermarks.workloads["default/StatefulSet/db"]
    assert use["cpu"]["15m"] == pytest.approx(0.6, rel=1e-6)
    assert use["memory"]["1d"] == pytest.approx(200 * MIB, rel=1e-6)


def test_trouble_is_told_and_the_last_figures_stay(plane: ControlPlane, metrics: MetricsServer) -> None:
    cluster = connected(plane)
    metrics.nodes = {"node-a": (1.0, 512), "node-b": (1.0, 256)}
    metrics.pods = {"db-0": (0.5, 100)}
    services.source_save(user=None, cluster=cluster, settings=FROM_METRICS)
    begin = time.time() - 60
    assert run(cluster, begin) == ""
    metrics.age = 3600
    assert "are unreadable or older than 5 minutes" in run(cluster, begin + 30)
    metrics.age = 5
    metrics.nodes, metrics.pods = {}, {}
    assert "knows no nodes yet" in run(cluster, begin + 60)
    assert column(cluster, "15m") == [25, 50]
    assert selectors.load_freshness(cluster, begin + 60).age == pytest.approx(60, abs=1)


def test_a_cluster_that_does_not_serve_it_or_rights_that_lack_say_so(
    plane: ControlPlane, request: pytest.FixtureRequest
) -> None:
    rules = [{"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["list", "watch"]}]
    plane.grant("limited", rules)
    cluster = connected(plane, "limited")

    def refused() -> str:
        with pytest.raises(ApplicationError) as caught:
            services.source_save(user=None, cluster=cluster, settings=FROM_METRICS)
        [problem, *_] = caught.value.errors
        assert problem["path"] == "kind"
        return problem["message"]

    assert "may not list nodes of metrics.k8s.io (403)" in refused()
    plane.grant("limited", [*rules, {"apiGroups": [GROUP], "resources": ["nodes", "pods"], "verbs": ["list"]}])
    wait_until(lambda: "403" not in refused(), "the API server knows of the new rights", step=0.5)
    assert "does not serve metrics.k8s.io" in refused()
    metrics: MetricsServer = request.getfixturevalue("metrics")
    metrics.nodes = {"node-a": (1.0, 512), "node-b": (1.0, 256)}
    metrics.pods = {"db-0": (0.5, 100)}
    report = services.source_save(user=None, cluster=cluster, settings=FROM_METRICS)
    assert report is not None
    assert (report.nodes, report.workloads) == (2, 1)
