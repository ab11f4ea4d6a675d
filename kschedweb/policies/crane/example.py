"""A worked example of a DynamicSchedulerPolicy: one node's score, and the part that heat takes off it.

Scores are the plugin's own: the example is a node with annotations, which the engine scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic import FACTOR, Dynamic, base_scores
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.validation.golang import SECOND, duration_text

# The example's node uses 40 % by every metric, and got 5 pods a moment ago.
USAGE, PODS = 0.4, 5
# A fixed moment, so that the example never changes with the clock.
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Metric:
    """One metric of the policy. All values are texts; "" stands for none."""

    name: str
    # For how long an annotated value is valid, as "8m0s", or "never".
    valid: str
    # The share of use above which the metric rejects a node, in percent.
    limit: str
    weight: str
    # The metric's part of all weights, in percent.
    share: str


@dataclass(frozen=True)
class Heat:
    """A rule of the hot value."""

    # The time in which bound pods are counted.
    window: str
    # That many pods take points off the score.
    count: int
    # The points that the example's pods make of it.
    points: int


@dataclass(frozen=True)
class Example:
    """The example: a node, and what the policy makes of it."""

    metrics: list[Metric]
    rules: list[Heat]
    # The node's use by every metric, 0 to 1.
    usage: float
    # How many pods the node has just got.
    pods: int
    # The score before heat is taken off.
    base: int
    # The hot value, in points.
    heat: int
    # The factor of crane-scheduler's code for each point of heat.
    factor: int
    # The score that crane-scheduler gives, 0 to 100.
    score: int
    # The score if each point of heat cost one point, as articles about crane-scheduler describe it.
    as_told: int


def compute_example(policy: Json) -> Example:
    """Return the example of a decoded policy."""
    plain = {
        part: [{name: _format_setting(name, value) for name, value in rule.items()} for rule in rules or ()]
        for part, rules in policy.items()
    }
    plugin = Dynamic({"policy": plain, "timeZone": "UTC"})
    heat = sum(crane.hot_value([int(NOW)] * PODS, NOW, [rule]) for rule in plugin.hot_rules)
    snapshot = _build_snapshot(plugin, heat)
    base = int(base_scores(plugin.parts(snapshot), 1)[0])
    score = int(plugin.score(Cycle(snapshot, Pod.from_json(_POD)), np.array([0]))[0])
    rules = [
        Heat(duration_text(rule.seconds * SECOND), rule.pods, crane.hot_value([int(NOW)] * PODS, NOW, [rule]))
        for rule in plugin.hot_rules
    ]
    score_as_told = min(max(base - max(heat, 0), 0), 100)
    return Example(_list_metrics(plugin), rules, USAGE, PODS, base, heat, FACTOR, score, score_as_told)


_POD = {"metadata": {"name": "example", "namespace": "default"}, "spec": {"containers": []}}


def _build_snapshot(plugin: Dynamic, heat: int) -> Snapshot:
    zone = crane.time_zone("UTC")
    annotations = {metric: crane.write_usage(USAGE, NOW, zone) for metric in plugin.active}
    annotations[crane.HOT_VALUE] = crane.write_hot_value(heat, NOW, zone)
    snapshot = Snapshot.from_objects([{"kind": "Node", "metadata": {"name": "example", "annotations": annotations}}])
    snapshot.now = NOW
    return snapshot


def _list_metrics(plugin: Dynamic) -> list[Metric]:
    limits, weights = dict(reversed(plugin.limits)), plugin.weights
    total = sum(weight for _, weight in weights)
    names = dict.fromkeys([*plugin.active, *(name for name, _ in plugin.limits), *(name for name, _ in weights)])
    metrics = []
    for name in names:
        weight = sum(weight for metric, weight in weights if metric == name)
        active = plugin.active.get(name)
        metrics.append(
            Metric(
                name,
                duration_text(int(active * SECOND)) if active else "never",
                f"{100 * limits[name]:g} %" if limits.get(name) else "",
                f"{weight:g}" if weight else "",
                f"{100 * weight / total:.3g} %" if weight and total else "",
            )
        )
    return metrics


def _format_setting(name: str, value: Any) -> Any:
    return duration_text(value) if name in ("period", "timeRange") else value
