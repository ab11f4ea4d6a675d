"""Figures collected from a real Prometheus equal known curves, for the nodes and pods of a real API server."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pytest_django import Settings as DjangoSettings

from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import selectors, services, tasks
from kschedweb.watermarks.figures import BY_NAME, WORKLOAD
from kschedweb.watermarks.presets import PRESETS
from kschedweb.watermarks.source_settings import SourceSettings
from kschedweb.web.errors import ApplicationError
from tests.support.certificates import certificate
from tests.support.processes import wait_until
from tests.support.prometheus import Curve, Exporter, Prometheus, counter, series

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = [pytest.mark.live, pytest.mark.django_db]

GIB = 1024**3
NODES = {"node-a": "10.0.0.1", "node-b": "10.0.0.2", "node-c": "10.0.0.3"}
PRESET = PRESETS["node-exporter"]
# What is used in the last 15 minutes, in the rest of the hour, in the rest of the day: a share of the machine.
SHARES = {"node-a": (0.6, 0.3, 0.1), "node-b": (0.2, 0.5, 0.4), "node-c": (0.05, 0.9, 0.02)}
POD_CORES = {"web-1": (0.5, 0.25, 0.1), "web-2": (0.3, 0.15, 0.1), "db-0": (1.0, 1.0, 0.5), "alone": (2.0, 2.0, 2.0)}


def staircase(steps: tuple[float, float, float], now: float) -> Any:
    """A curve with its steps half a sample before the windows begin: a window holds the samples at both its ends."""
    return lambda moment: steps[0] if moment > now - 915 else steps[1] if moment > now - 3615 else steps[2]


def deviation(steps: tuple[float, float, float], now: float) -> float:
    """The standard deviation of two-minute means at each full minute of the last fifteen."""
    minutes = np.arange(np.ceil((now - 900) / 60) * 60, now + 1, 60)
    # Counters are sampled every 30 s, so that a step shows from the first whole one on.
    after = np.clip((minutes - (now - 900)) / 120, 0, 1)
    return float(np.std(steps[1] + (steps[0] - steps[1]) * after))


def averages(steps: tuple[float, float, float]) -> dict[str, float]:
    hour = (steps[0] * 900 + steps[1] * 2700) / 3600
    return {"15m": steps[0], "1h": hour, "1d": (hour * 3600 + steps[2] * 82_800) / 86_400}


def node(name: str, address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "allocatable": {"cpu": "2" if name == "node-a" else "4", "memory": "16Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, owner: dict[str, Any] | None) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "controller": True}
    owners = (
        [{**reference, "kind": owner["kind"], **{key: owner["metadata"][key] for key in ("name", "uid")}}]
        if owner
        else []
    )
    spec = {"containers": [{"name": "main", "image": "web:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": owners}, "spec": spec}


def controller(kind: str, name: str, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owner:
        uid = {key: owner["metadata"][key] for key in ("name", "uid")}
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner["kind"], "controller": True, **uid}]
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": name}}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture(autouse=True)
def allowed(settings: DjangoSettings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """A connected cluster: three nodes, a Deployment with two pods, a StatefulSet with one, a pod of its own."""
    apps = "/apis/apps/v1/namespaces/default"
    control_plane.create_nodes([node(*entry) for entry in NODES.items()])
    deployment = control_plane.call("POST", f"{apps}/deployments", controller("Deployment", "web"))
    replicas = control_plane.call("POST", f"{apps}/replicasets", controller("ReplicaSet", "web-7f", deployment))
    database = control_plane.call("POST", f"{apps}/statefulsets", controller("StatefulSet", "db"))
    owners = {"web-1": replicas, "web-2": replicas, "db-0": database, "alone": None}
    control_plane.create_all("/api/v1/namespaces/default/pods", [pod(*entry) for entry in owners.items()])
    for name in owners:
        control_plane.bind("default", name, "node-b")
    credentials = {"server": control_plane.url, "token": control_plane.tokens["reader"], "ca": control_plane.ca}
    metered, _ = clusters.cluster_connect(user=None, name="metered", source="token", **credentials)
    clusters.snapshot_read(cluster=metered, step=lambda *_: None)
    yield metered
    control_plane.wipe()
    for path in ("deployments/web", "replicasets/web-7f", "statefulsets/db"):
        control_plane.call("DELETE", f"{apps}/{path}")


def collect(cluster: Cluster, at: float | None = None) -> str:
    """One run as the task does it; what was wrong."""
    source = services.run_claim(cluster_id=cluster.pk, now=at or time.time(), due_only=False)
    assert source is not None
    services.run_collection(source=source, now=at or time.time())
    return selectors.source_get(cluster).error


def column(cluster: Cluster, resource: str, statistic: str) -> dict[str, float]:
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    return dict(zip(watermarks.names, watermarks.column(resource, statistic).tolist(), strict=True))


def less(curve: Curve) -> Curve:
    """Return 1 minus ``curve``."""
    return lambda moment: 1 - curve(moment)


def times(factor: float, curve: Curve) -> Curve:
    return lambda moment: factor * curve(moment)


def past(now: float, end: float) -> Iterator[str]:
    """A day of node-exporter's and the kubelet's series, each following its staircase to ``now`` and on to ``end``."""
    start, step = now - 90_000, 30.0
    yield "# TYPE node_cpu_seconds counter"
    for name, address in NODES.items():
        use = staircase(SHARES[name], now)
        idle = counter(less(use), start=start, step=step)
        busy = counter(use, start=start, step=step)
        for mode, seconds in (("idle", idle), ("user", busy)):
            labels = f'instance="{address}:9100",cpu="0",mode="{mode}"'
            yield from series("node_cpu_seconds_total", labels, seconds, start=start, end=end, step=step)
    for metric in ("node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"):
        yield f"# TYPE {metric} gauge"
        for name, address in NODES.items():
            use = staircase(SHARES[name], now)
            free = times(16 * GIB, less(use) if "Available" in metric else lambda _: 1.0)
            yield from series(metric, f'instance="{address}:9100"', free, start=start, end=end, step=step)
    yield "# TYPE container_cpu_usage_seconds counter"
    for name, steps in POD_CORES.items():
        used = counter(staircase(steps, now), start=start, step=step)
        labels = f'namespace="default",pod="{name}",container="main",image="web"'
        yield from series("container_cpu_usage_seconds_total", labels, used, start=start, end=end, step=step)
    yield "# TYPE container_memory_working_set_bytes gauge"
    for name, steps in POD_CORES.items():
        use = staircase(steps, now)
        labels = f'namespace="default",pod="{name}",container="main",image="web"'
        yield from series(
            "container_memory_working_set_bytes", labels, times(GIB, use), start=start, end=end, step=step
        )


def test_windows_of_a_recorded_day_equal_the_curves(cluster: Cluster, tmp_path: Path) -> None:
    now = float(int(time.time()) // 300 * 300 + 30 - 300)  # half a minute after what subqueries begin with
    prometheus = Prometheus(tmp_path)
    prometheus.backfill(past(now, time.time()))
    settings = SourceSettings(kind="prometheus", address=prometheus.url, queries=PRESET.queries)
    with prometheus.started():
        report = services.source_test(user=None, cluster=cluster, settings=settings)
        assert {name: query.error for name, query in report.failed.items()} == {}
        services.source_save(user=None, cluster=cluster, settings=settings)
        assert collect(cluster, now) == ""
    for name, steps in SHARES.items():
        scale = 200 if name == "node-a" else 100  # half of node-a's cores can be given away
        for statistic, share in averages(steps).items():
            assert column(cluster, "cpu", statistic)[name] == pytest.approx(share * scale, rel=0.02, abs=0.3)
            assert column(cluster, "memory", statistic)[name] == pytest.approx(share * 100, rel=0.02, abs=0.3)
        assert column(cluster, "cpu", "5m")[name] == pytest.approx(steps[0] * scale, rel=0.02)
        assert column(cluster, "cpu", "1h_max")[name] == pytest.approx(max(steps[:2]) * scale, rel=0.02)
        assert column(cluster, "cpu", "1d_max")[name] == pytest.approx(max(steps) * scale, rel=0.02)
        assert column(cluster, "cpu", "15m_std")[name] == pytest.approx(deviation(steps, now) * scale, rel=0.1)
    watermarks = selectors.current_watermarks(cluster)
    assert watermarks is not None
    assert watermarks.source == "prometheus"
    assert watermarks.updated.tolist() == [now] * 3
    assert set(watermarks.workloads) == {"default/Deployment/web", "default/StatefulSet/db"}
    web = watermarks.workloads["default/Deployment/web"]
    both = [averages(POD_CORES["web-1"]), averages(POD_CORES["web-2"])]
    for statistic in ("15m", "1h", "1d"):
        mean = (both[0][statistic] + both[1][statistic]) / 2
        assert web["cpu"][statistic] == pytest.approx(mean, rel=0.02)
        assert web["memory"][statistic] == pytest.approx(mean * GIB, rel=0.02)
    assert watermarks.workloads["default/StatefulSet/db"]["cpu"]["15m"] == pytest.approx(1, rel=0.02)


@pytest.mark.nightly
def test_exporters_are_scraped_and_trouble_is_survived_and_told(cluster: Cluster, tmp_path: Path) -> None:
    begun = time.time()
    shares = {"node-a": 0.2, "node-b": 0.5, "node-c": 0.8}

    def text(name: str) -> Any:
        def lines(now: float) -> str:
            busy = shares[name] * (now - begun)
            return (
                "# TYPE node_cpu_seconds_total counter\n"
                f'node_cpu_seconds_total{{cpu="0",mode="idle",node="{name}"}} {now - begun - busy:.6f}\n'
                f'node_cpu_seconds_total{{cpu="0",mode="user",node="{name}"}} {busy:.6f}\n'
                "# TYPE node_memory_MemTotal_bytes gauge\n"
                f'node_memory_MemTotal_bytes{{node="{name}"}} {16 * GIB}\n'
                "# TYPE node_memory_MemAvailable_bytes gauge\n"
                f'node_memory_MemAvailable_bytes{{node="{name}"}} {16 * GIB * (1 - shares[name]):.0f}\n'
            )

        return lines

    cpu, memory = (
        PRESET.queries[name].replace("by (instance)", "by (node)") for name in ("node/cpu/5m", "node/memory/5m")
    )
    queries = {"node/cpu/5m": cpu, "node/memory/5m": memory}
    with (
        Exporter(text("node-a")).started() as first,
        Exporter(text("node-b")).started() as second,
        Exporter(text("node-c")).started() as third,
    ):
        prometheus = Prometheus(tmp_path, scrape=[first.port, second.port, third.port])
        settings = SourceSettings(
            kind="prometheus", address=prometheus.url, queries=queries, node_label="node", interval=30
        )
        with prometheus.started():
            deadline = time.monotonic() + 60
            while (prometheus.value("min(count_over_time(node_cpu_seconds_total[5m]))") or 0) < 8:
                assert time.monotonic() < deadline
                time.sleep(0.5)
            services.source_save(user=None, cluster=cluster, settings=settings)
            assert collect(cluster) == ""
            cpus = column(cluster, "cpu", "5m")
            assert cpus == pytest.approx({"node-a": 40, "node-b": 50, "node-c": 80}, abs=1.5)
            assert column(cluster, "memory", "5m") == pytest.approx(
                {"node-a": 20, "node-b": 50, "node-c": 80}, abs=0.01
            )

            # Prometheus' own words stand beside the query that is wrong.
            broken = replace(settings, queries=queries | {"node/cpu/1h": "rate(node_cpu_seconds_total"})
            with pytest.raises(ApplicationError) as caught:
                services.source_save(user=None, cluster=cluster, settings=broken)
            [problem] = caught.value.errors
            assert problem["path"] == "queries.node/cpu/1h"
            assert "parse error: unclosed left parenthesis" in problem["message"]
            ratios = replace(settings, queries={"node/memory/5m": memory.removeprefix("100 * ")})
            with pytest.raises(ApplicationError) as caught:
                services.source_save(user=None, cluster=cluster, settings=ratios)
            assert "look like ratios" in caught.value.errors[0]["message"]

            # It hangs: the run ends within its interval, and the last good figures stay.
            assert prometheus.process is not None
            prometheus.process.send_signal(signal.SIGSTOP)
            try:
                start_time = time.monotonic()
                assert collect(cluster) != ""
                assert time.monotonic() - start_time < 30
            finally:
                prometheus.process.send_signal(signal.SIGCONT)
            assert column(cluster, "cpu", "5m") == cpus
        assert collect(cluster) == "Prometheus cannot be reached at its address."
        assert column(cluster, "cpu", "5m") == cpus
        later = selectors.load_freshness(cluster, time.time() + 600)
        assert later.stale
        with prometheus.started():
            # Some series only come back with the next scrape.
            wait_until(lambda: collect(cluster) == "", "it is read again", step=1.0)
    assert selectors.load_freshness(cluster, time.time()).stale is False


def test_a_prometheus_behind_tls_and_a_password(cluster: Cluster, tmp_path: Path, settings: DjangoSettings) -> None:
    certificate_file = certificate(tmp_path)
    # The hash of scrape-me.
    web = (
        f"tls_server_config: {{cert_file: {certificate_file}, key_file: {certificate_file.with_suffix('.key')}}}\n"
        "basic_auth_users: {reader: $2b$05$abcdefghijklmnopqrstuuuThTKwrGjGDwr9keMpUmIYOfXrvmflO}\n"
    )
    prometheus = Prometheus(tmp_path, web=web)
    vector = 'label_replace(vector(42), "instance", "node-b", "", "")'
    source_settings = SourceSettings(
        kind="prometheus",
        address=prometheus.url.replace("http://", "https://"),
        authentication="basic",
        username="reader",
        password="scrape-me",
        ca=certificate_file.read_text(),
        queries={"node/cpu/15m": vector},
    )

    def refused(settings: SourceSettings) -> dict[str, str]:
        with pytest.raises(ApplicationError) as caught:
            services.source_save(user=None, cluster=cluster, settings=settings)
        return {item["path"]: item["message"] for item in caught.value.errors}

    with prometheus.started(tls=True):
        assert "credentials" in refused(replace(source_settings, password="wrong"))
        assert "ca" in refused(replace(source_settings, ca=""))
        plain = replace(source_settings, address=prometheus.url, authentication="none")
        assert "status 400" in refused(plain)["address"]
        services.source_save(user=None, cluster=cluster, settings=source_settings)
        assert collect(cluster) == ""
    assert column(cluster, "cpu", "15m")["node-b"] == 42


@pytest.mark.django_db(transaction=True)
def test_the_task_of_beat_collects_from_the_real_servers(
    cluster: Cluster, tmp_path: Path, settings: DjangoSettings
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = True
    prometheus = Prometheus(tmp_path)
    query = 'label_replace(vector(0.5), "pod", "db-0", "", "") * on (pod) group_left (namespace) '
    query += 'label_replace(label_replace(vector(1), "pod", "db-0", "", ""), "namespace", "default", "", "")'
    source_settings = SourceSettings(kind="prometheus", address=prometheus.url, queries={"workload/cpu/15m": query})
    with prometheus.started():
        services.source_save(user=None, cluster=cluster, settings=source_settings)
        assert tasks.collect(str(cluster.pk)) is True
        assert tasks.collect(str(cluster.pk)) is False
    table = selectors.load_table(cluster, WORKLOAD)
    assert table is not None
    figure = BY_NAME["workload/cpu/15m"]
    values = dict(zip(table.names, table.figures[figure.resource, figure.statistic].tolist(), strict=True))
    assert values["default/StatefulSet/db"] == 0.5
