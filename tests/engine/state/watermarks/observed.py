"""Clusters with utilisation, and one load-aware plugin alone to score them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOW = 1_790_000_000.0
Figures = dict[str, Any]  # resource -> key -> percent


def make_snapshot(figures: Mapping[str, Figures], *objects: dict, updated: float = NOW, **allocatable: str) -> Snapshot:
    """Nodes of 10 CPU and 10 GiB, bound pods and other ``objects``; ``figures``: by node, resource and key."""
    room = {"cpu": "10", "memory": "10Gi", **allocatable}
    snapshot = Snapshot.from_objects([*(node(name, allocatable=room) for name in figures), *objects])
    assert snapshot.problems == []
    node_figures = {name: {"updated": updated, **of_node} for name, of_node in figures.items() if of_node}
    snapshot.watermarks = Watermarks.from_json({"nodes": node_figures}, snapshot.names)
    snapshot.now = NOW
    return snapshot


def levels(**cpu: float | None) -> dict[str, Figures]:
    """Nodes by the mean of their CPU use over 15 minutes, in percent; None: nothing is known."""
    return {name: {} if level is None else {"cpu": {"15m": level}} for name, level in cpu.items()}


def alone(plugin: str, snapshot: Snapshot, **args: Any) -> Scheduler:
    """A scheduler that scores by ``plugin`` only."""
    enabled = {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}}
    if plugin == "LowRiskOverCommitment":
        enabled["preScore"] = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    config = [{"name": plugin, "args": args}]
    profile = {"schedulerName": "default-scheduler", "plugins": enabled, "pluginConfig": config}
    loaded = load({**CONFIGURATION, "profiles": [profile]})
    assert loaded.configuration is not None, loaded.errors
    return Scheduler(snapshot, loaded.configuration)


def scores(plugin: str, snapshot: Snapshot, raw: dict | None = None, **args: Any) -> dict[str, int]:
    """Return the plugin's score of each node, normalised."""
    answer = alone(plugin, snapshot, **args).explain(Pod.from_json(raw or using("new", "0"))).to_dict()
    node_scores: dict[str, int] = answer["scores"][plugin]["normalized"]
    return node_scores


def using(name: str, cpu: str, **fields: Any) -> dict:
    """A pod whose limit is ``cpu``, and that requests nothing."""
    return pod(name, container={"resources": {"limits": {"cpu": cpu}, "requests": {"cpu": "0"}}}, **fields)


def mark_scheduled(raw: dict, time: str) -> dict:
    """The pod, said to have been scheduled at ``time`` (RFC 3339)."""
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
    return {**raw, "status": {"conditions": [condition]}}
