"""Plain readings beside the scheduler's words: what is missing on a node, and what would change it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.decisions.presenters import get_presenter
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.framework.status import unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.fixes.shortages import find_resource_shortages

from .conftest import HEAD


def node(name: str = "node-03", labels: Json | None = None, **spec: Any) -> Json:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "2"}}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


def pod(name: str = "web", on: str = "", requests: Json | None = None, labels: Json | None = None, **spec: Any) -> Json:
    container: Json = {"name": "main", "image": "web:1", "resources": {"requests": requests or {}}}
    if ports := spec.pop("ports", None):
        container["ports"] = ports
    body = {"containers": [container], **spec}
    if on:
        body["nodeName"] = on
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": labels or {}}, "spec": body}


def read_verdict(*objects: Json, at: str = "node-03") -> VerdictReading:
    """The reading of the decisive verdict on ``at`` for the pod ``web``."""
    snapshot = Snapshot.from_objects(objects)
    configuration = load(HEAD).configuration
    assert configuration is not None
    web = snapshot.get_pod("default/web")
    explanation = Scheduler(snapshot, configuration).explain(web)
    status = explanation.verdict(at)
    assert status is not None, "the node is feasible"
    return get_presenter(status.plugin).reading(snapshot, web, snapshot.index[at], status)


def test_too_little_cpu_says_how_much_is_short() -> None:
    reading = read_verdict(node(), pod(on="node-03", name="a", requests={"cpu": "1200m"}), pod(requests={"cpu": "3"}))
    assert reading.text == "the pod needs 3 CPU, and node-03 has 2.8 CPU free of 4 CPU: 200m CPU short"
    assert reading.remedy == "free 200m CPU there, or request that much less"


def test_a_node_that_is_too_small_at_all_says_so() -> None:
    reading = read_verdict(node(), pod(requests={"memory": "10Gi"}))
    assert reading.text == "the pod needs 10Gi memory, and node-03 has 8Gi memory free of 8Gi: 2Gi memory short"
    assert reading.remedy == "even empty, this node is too small: request less memory or add larger nodes"


def test_no_room_for_another_pod() -> None:
    reading = read_verdict(node(), pod(on="node-03", name="a"), pod(on="node-03", name="b"), pod())
    assert reading.text == "node-03 runs 2 of at most 2 pods"


def test_a_taint_is_named_with_what_would_tolerate_it() -> None:
    reading = read_verdict(node(taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]), pod())
    assert "tainted gpu=yes:NoSchedule" in reading.text
    assert "add a toleration for gpu" in reading.remedy


def test_a_cordoned_node() -> None:
    assert "kubectl uncordon node-03" in read_verdict(node(unschedulable=True), pod()).remedy


def test_a_node_selector_says_what_the_node_has_instead() -> None:
    reading = read_verdict(node(labels={"disk": "hdd"}), pod(nodeSelector={"disk": "ssd", "rack": "7"}))
    assert "disk=ssd (it has hdd)" in reading.text
    assert "rack=7 (it has no such label)" in reading.text


def test_a_host_port_that_is_taken() -> None:
    port = [{"containerPort": 80, "hostPort": 8080}]
    assert "8080/TCP is taken" in read_verdict(node(), pod(on="node-03", name="a", ports=port), pod(ports=port)).text


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({}, "a label that node-03 does not have"),
        ({"zone": "a"}, "zone=a would have 2 matching pods and the emptiest place has 0: a skew of 2 over maxSkew 1"),
    ],
)
def test_a_spread_constraint(labels: Json, words: str) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    running = pod(on="node-03", name="a", labels={"app": "web"})
    incoming = pod(labels={"app": "web"}, topologySpreadConstraints=[constraint])
    assert words in read_verdict(node(labels=labels), node("node-04", labels={"zone": "b"}), running, incoming).text


def test_anti_affinity_names_what_must_not_be_near() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    hostname = {"kubernetes.io/hostname": "node-03"}
    reading = read_verdict(
        node(labels=hostname), pod(on="node-03", name="a", labels={"app": "web"}), pod(affinity=anti)
    )
    assert "must not run beside pods with app=web in kubernetes.io/hostname=node-03" in reading.text


def test_the_nearest_miss_of_equals_is_the_one_that_lacks_least() -> None:
    snapshot = Snapshot.from_objects([node(), pod(requests={"cpu": "5", "memory": "12Gi"})])
    missing = find_resource_shortages(snapshot, snapshot.get_pod("default/web"), 0)
    assert [str(item) for item in missing] == ["4Gi memory", "1 CPU"]


def load_aware(plugin: str, snapshot: Snapshot, **args: Any) -> VerdictReading:
    """The reading of the verdict of a load-aware plugin on ``node-03``, which rejects it."""
    plugins = {"filter": {"enabled": [{"name": plugin}]}}
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": plugins,
        "pluginConfig": [{"name": plugin, "args": args}],
    }
    configuration = load(f"{HEAD}profiles: {json.dumps([profile])}").configuration
    assert configuration is not None
    web = snapshot.get_pod("default/web")
    status = Scheduler(snapshot, configuration).explain(web).verdict("node-03")
    assert status is not None
    ((reason, subject),) = status.detailed_reasons
    assert get_presenter(plugin).in_short(web, reason, subject) != reason
    return get_presenter(plugin).reading(snapshot, web, 0, status)


def test_a_limit_of_crane_scheduler_says_which_figure_is_above_it() -> None:
    raw = node()
    raw["metadata"]["annotations"] = {"mem_usage_max_avg_1h": "0.80000,2026-11-21T14:00:00Z"}
    reading = load_aware("Dynamic", Snapshot.from_objects([raw, pod()]))
    finding = "memory (highest 5 minutes of an hour) is above its limit"
    assert reading.text == f"node-03 really uses more than the policy allows: {finding}"
    assert reading.remedy == "reduce the load there, or raise maxLimitPecent for mem_usage_max_avg_1h"


def test_a_threshold_of_volcano_says_how_much_is_used() -> None:
    raw = node()
    snapshot = Snapshot.from_objects([raw, pod()])
    figures = {"node-03": {"updated": 1000, "cpu": {"10m": 85.5}}}
    snapshot.watermarks, snapshot.now = Watermarks.from_json({"nodes": figures}, snapshot.names), 1000.0
    reading = load_aware("VolcanoUsage", snapshot)
    assert reading.text == "node-03 really uses 85.5 % of its CPU, which is above the threshold"
    assert reading.remedy == "reduce the load there, or raise thresholds.cpu"


def test_thresholds_of_koordinator_and_figures_that_are_too_old_for_it() -> None:
    snapshot = Snapshot.from_objects([node(), pod()])
    figures = {"node-03": {"updated": 1000, "cpu": {"5m": 85.5}}}
    snapshot.watermarks, snapshot.now = Watermarks.from_json({"nodes": figures}, snapshot.names), 1000.0
    reading = load_aware("LoadAwareScheduling", snapshot)
    assert reading.text.startswith(
        "with its use, newer pods and this one, node-03 would be above the threshold for cpu"
    )
    assert reading.remedy == "reduce the load there, or raise usageThresholds.cpu"
    snapshot.now = 1180.0
    reading = load_aware("LoadAwareScheduling", snapshot)
    assert reading.text == "the usage data of node-03 is 180 s old, which is too old to use"


@pytest.mark.parametrize(
    "plugin", ["Dynamic", "InterPodAffinity", "LoadAwareScheduling", "NodeResourcesFit", "VolcanoUsage"]
)
def test_without_facts_the_scheduler_s_own_words_are_told(plugin: str) -> None:
    """Decisions that were kept before verdicts carried facts have none."""
    snapshot = Snapshot.from_objects([node()])
    reading = get_presenter(plugin).reading(
        snapshot, Pod.from_json(pod()), 0, unschedulable("above its limit").with_plugin(plugin)
    )
    assert "above its limit" in reading.text
