"""The policies of the experiment by name: kube-scheduler's defaults with one load-aware plugin each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kschedweb.engine.config import EMPTY, Configuration, Release
from kschedweb.engine.releases import CURRENT, load

HHE, TARGET = "HheWaterLevelBalance", "TargetLoadPacking"
DEFAULT, WATER_LEVEL, FUTURE = "default", "water-level", "future"
Document = dict[str, Any]


class PolicyError(ValueError):
    """A policy that cannot be run; says why."""


def profile(weights: Mapping[str, int] | None = None, args: Mapping[str, Mapping[str, Any]] | None = None) -> Document:
    """kube-scheduler's default profile, with these plugins' weights at score (0: not scored by) and arguments."""
    found: Document = {"schedulerName": "default-scheduler"}
    if weights:
        # A default plugin gets another weight by being disabled at score and enabled there again.
        disabled = [{"name": name} for name in weights if name in _DEFAULTS]
        enabled = [{"name": name, "weight": weight} for name, weight in weights.items() if weight]
        new = [one for one in enabled if one["name"] not in _DEFAULTS]
        again = [one for one in enabled if one["name"] in _DEFAULTS]
        found["plugins"] = {"score": {"enabled": again, "disabled": disabled}, "multiPoint": {"enabled": new}}
    if args:
        found["pluginConfig"] = [{"name": name, "args": dict(values)} for name, values in args.items()]
    return {**EMPTY, "profiles": [found]}


_DEFAULTS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread")
# Watts of an idle machine, and how they grow with use: k0 + k1 × e^(k2 × percent).
_POWER = {"k0": 400.0, "k1": -90.0, "k2": -0.07}
_LOAD_AWARE = {"nodeMetricExpirationSeconds": 600, "usageThresholds": {"cpu": 100, "memory": 100}}


def policies(nodes: int) -> dict[str, Document]:
    """Every policy that needs no search, by name.

    ``nodes`` is how many nodes there are to have a power model.
    """
    power = {f"node-{place + 1:02d}": _POWER for place in range(nodes)}
    return {
        DEFAULT: profile(),
        WATER_LEVEL: profile({HHE: 1}),
        "target-load-packing": profile({TARGET: 1}),
        "target-load-packing-50": profile({TARGET: 1}, {TARGET: {"penalty": "Fixed50"}}),
        "load-variation-risk": profile({"LoadVariationRiskBalancing": 1}),
        "low-risk-overcommitment": profile({"LowRiskOverCommitment": 1}),
        "peaks": profile({"Peaks": 1}, {"Peaks": {"nodePowerModel": power}}),
        "dynamic": profile({"Dynamic": 3}),
        # Its figures expire after three minutes, and are made anew every five here; where nodes are used to 70 % its
        # threshold of 65 % would leave most pods waiting.
        "load-aware-scheduling": profile({"LoadAwareScheduling": 1}, {"LoadAwareScheduling": _LOAD_AWARE}),
        "volcano-usage": profile({"VolcanoUsage": 1}),
    }


def configuration(document: Any, release: Release = CURRENT) -> Configuration:
    """The document for the engine; raises PolicyError with what is wrong."""
    loaded = load(document, release)
    if loaded.configuration is None:
        raise PolicyError("; ".join(loaded.errors))
    return loaded.configuration


def text(document: Document) -> str:
    """The document as JSON, which is YAML too: equal texts for equal documents."""
    return json.dumps(document, sort_keys=True)
