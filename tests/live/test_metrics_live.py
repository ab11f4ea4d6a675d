"""The series of a live scheduler beside those of the real kube-scheduler: names, kinds, labels, buckets, values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from kschedweb.engine.framework.decision import Decision, PluginCall
from kschedweb.engine.framework.status import Code
from kschedweb.engine.live import QueueDepths
from kschedweb.live.schedulers.metrics import OWNER_LABELS, REGISTRY, Instruments, render_exposition
from tests.conftest import ROOT
from tests.live.test_extenders_live import node, pod, priority_class
from tests.live.test_kube_scheduler_live import CONFIG, decided, path_of
from tests.support.kubescheduler import PodWatch, kube_scheduler, kube_scheduler_metrics

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

# No plugin of the stock kube-scheduler lets a single pod wait at Permit: its metrics.go names these.
OF_GROUPS = {"incomplete", "pending"}  # queues for groups of pods (1.37), which live schedulers do not place
# It measures plugins in one cycle of ten, which it draws.
NEVER_SHOWN = {
    "scheduler_permit_wait_duration_seconds": {"result"},
    "scheduler_plugin_execution_duration_seconds": {"plugin", "extension_point", "status"},
}
DOCUMENT = ROOT / "docs" / "metrics.md"
PREFIX = re.compile(r"scheduler_(volume_)?")  # kube-scheduler keeps it apart from the name
VALUES = ("result", "queue", "type", "status", "extension_point")


@dataclass
class Family:
    """Metric family: a scraper's knowledge of one name."""

    kind: str
    labels: set[str] = field(default_factory=set)
    bounds: set[float] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)


def families(text: str) -> dict[str, Family]:
    family_by_name: dict[str, Family] = {}
    for parsed in text_string_to_metric_families(text):
        family = family_by_name.setdefault(parsed.name, Family(parsed.type))
        for sample in parsed.samples:
            if "le" in sample.labels:
                family.bounds.add(round(float(sample.labels["le"]), 9))
            # Prometheus takes an empty label as absent.
            family.labels |= {name for name, value in sample.labels.items() if value} - {"le"}
            for name in VALUES:
                family.values.setdefault(name, set()).add(sample.labels.get(name, ""))
    return family_by_name


@pytest.fixture
def theirs(control_plane: ControlPlane) -> Iterator[dict[str, Family]]:
    """Metrics of kube-scheduler once it has placed pods, found no node for one, and made room for one."""
    classes = [priority_class(name, value) for name, value in (("low", 10), ("high", 1000))]
    for item in classes:
        control_plane.call("POST", path_of(item), item)
    control_plane.create_nodes([node(0), node(1)])
    with kube_scheduler(control_plane, CONFIG, elects=True) as log:
        watch = PodWatch(control_plane)
        for raw in (pod(1, "3", "low"), pod(2, "3", "low"), pod(3, "64", "low"), pod(4, "3", "high")):
            control_plane.call("POST", path_of(raw), raw)
            watch.wait_for(f"default/{raw['metadata']['name']}", decided, "is not decided")
        watch.close()
        yield families(kube_scheduler_metrics(log))
    control_plane.wipe()
    for item in classes:
        control_plane.request("DELETE", f"{path_of(item)}/{item['metadata']['name']}")


class Row(NamedTuple):
    """A line of the table in docs/metrics.md."""

    name: str
    releases: list[str]
    exported: bool
    labels: list[str]
    why: str


def table() -> list[Row]:
    """The document's table of kube-scheduler's names."""
    lines = re.findall(r"^\| `([a-z_]+)` \| ([\d., ]+) \| (yes|no) \| (.*?) \| (.*) \|$", DOCUMENT.read_text(), re.M)
    return [
        Row(name, rel.split(", "), exported == "yes", re.findall(r"`(\w+)`", to), why)
        for name, rel, exported, to, why in lines
    ]


def test_the_document_names_what_kube_scheduler_serves(
    theirs: dict[str, Family], control_plane: ControlPlane, assets: Path
) -> None:
    release = control_plane.release.name
    documented = {row.name for row in table() if release in row.releases}
    served = {name for name in theirs if name.startswith(("scheduler_", "leader_election_"))}
    assert len(served) > 20
    assert served <= {name.removesuffix("_total") for name in documented}
    program = (assets / "kube-scheduler").read_bytes()
    assert [name for name in documented if PREFIX.sub("", name).encode() not in program] == []


def clear_series() -> None:
    """Forget what other tests of this process have counted."""
    for collector in [*REGISTRY._collector_to_names]:
        if isinstance(collector, MetricWrapperBase):
            collector.clear()


def ours(entity_label: str) -> dict[str, Family]:
    """A scheduler to which everything has happened that is counted, of a release that names entities so."""
    instruments = Instruments("metrics", "metrics", "kschedweb-metrics")
    points = ("PreFilter", "Filter", "PostFilter", "Score", "Reserve", "Permit")
    durations, codes = dict.fromkeys(points, 0.001), {"PostFilter": Code.UNSCHEDULABLE}
    calls = [PluginCall("NodeName", "Filter", str(Code.SUCCESS), 0.0001)]
    instruments.count_decision(Decision("a/b", "u", 0.0, "metrics", durations=durations, codes=codes, calls=calls))
    for result in ("scheduled", "unschedulable", "error"):
        instruments.count_attempt(result, 0.01)
    instruments.pod_bound(1.0, 1)
    instruments.permit_waited(1.0, Code.SUCCESS)
    instruments.count_incoming({("active", "PodAdd"): 1})
    instruments.count_preemption(1)
    instruments.set_depths(QueueDepths(1, 1, 1, 1, waiting=1, awaiting_approval=1, binding=1, nodes=1, pods=1))
    instruments.set_entities({("active", "pod"): 1}, entity_label)
    instruments.count_incoming_entities({("active", "PodAdd", "pod"): 1}, entity_label)
    instruments.set_leading(True)
    exported = families(render_exposition()[0].decode())
    return {name: family for name, family in exported.items() if not name.startswith("kschedweb_")}


def test_names_labels_and_buckets_are_kube_schedulers(theirs: dict[str, Family], control_plane: ControlPlane) -> None:
    clear_series()
    our_families = ours(control_plane.release.entity_label)
    assert len(our_families) > 10
    differs: dict[str, Any] = {}
    for name, family in our_families.items():
        if (their_family := theirs.get(name)) is None:
            if NEVER_SHOWN.get(name) != family.labels - set(OWNER_LABELS):
                differs[name] = "not kube-scheduler's"
            continue
        labels = family.labels - (set(OWNER_LABELS) - their_family.labels)
        if (family.kind, labels, family.bounds) != (their_family.kind, their_family.labels, their_family.bounds):
            differs[name] = family, their_family
    assert differs == {}
    # A dashboard asks for these by value.
    for name, label in (
        ("scheduler_schedule_attempts", "result"),
        ("scheduler_pending_pods", "queue"),
        ("scheduler_cache_size", "type"),
    ):
        assert theirs[name].values[label] - OF_GROUPS <= our_families[name].values[label]
    points, status = "scheduler_framework_extension_point_duration_seconds", "status"
    assert our_families[points].values["extension_point"] <= theirs[points].values["extension_point"]
    # kube-scheduler says Wait, too, where a Permit plugin makes a pod wait; none did here.
    assert our_families[points].values[status] <= theirs[points].values[status] | {"Wait"}
