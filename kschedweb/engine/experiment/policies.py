"""The policies of the experiment by name: kube-scheduler's defaults with one load-aware plugin each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb import __version__
from kschedweb.engine.config import EMPTY, Configuration, Release
from kschedweb.engine.config.specs import PluginTrial
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, ReleaseError, get_release, load
from kschedweb.engine.values import dataclass

HHE = "HheWaterLevelBalance"
DEFAULT, FUTURE = "default", "future"


class PolicyError(ValueError):
    """A policy that cannot be run; the message says why."""


def create_profile(
    weights: Mapping[str, int] | None = None, args: Mapping[str, Mapping[str, Any]] | None = None
) -> Json:
    """Return kube-scheduler's default profile with these weights (0: the plugin does not score) and arguments."""
    profile_document: Json = {"schedulerName": "default-scheduler"}
    if weights:
        # A default plugin gets another weight by being disabled at score and enabled there again.
        disabled = [{"name": name} for name in weights if name in _DEFAULTS]
        enabled = [{"name": name, "weight": weight} for name, weight in weights.items() if weight]
        new = [plugin for plugin in enabled if plugin["name"] not in _DEFAULTS]
        reweighted = [plugin for plugin in enabled if plugin["name"] in _DEFAULTS]
        profile_document["plugins"] = {
            "score": {"enabled": reweighted, "disabled": disabled},
            "multiPoint": {"enabled": new},
        }
    if args:
        profile_document["pluginConfig"] = [{"name": name, "args": dict(values)} for name, values in args.items()]
    return {**EMPTY, "profiles": [profile_document]}


# Default plugins whose weights vary.
_DEFAULTS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread")


def list_policies(nodes: int) -> dict[str, Json]:
    """Return every policy that needs no search by name: the defaults, and these with each load-aware plugin.

    ``nodes`` is the number of nodes, for plugins with an argument for each.
    """
    names = [f"node-{place + 1:02d}" for place in range(nodes)]
    return {DEFAULT: create_profile()} | {
        trial.name: create_profile(
            {**trial.companion_weights, plugin: trial.weight}, {plugin: args} if (args := trial.args(names)) else None
        )
        for plugin, trial in list_trials()
    }


def engine_of(config: Configuration | None) -> str:
    """Return the engine of a run; a placement that knows the future (``None``) stands for no kube-scheduler."""
    return config.release.engine if config is not None else f"kschedweb {__version__}"


def list_trials() -> list[tuple[str, PluginTrial]]:
    """Return every load-aware plugin with its trials."""
    return [(spec.name, trial) for spec in CURRENT.registry.specs.values() for trial in spec.experiment_trials]


def load_configuration(document: Any, release: Release = CURRENT) -> Configuration:
    """Return the configuration of a document; raise PolicyError with its errors."""
    loaded = load(document, release)
    if loaded.configuration is None:
        raise PolicyError("; ".join(loaded.errors))
    return loaded.configuration


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A configuration from a file, and the kube-scheduler that reads it."""

    text: str
    # As ``get_release`` takes them.
    release: str = ""
    gates: dict[str, bool] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def load(self) -> Configuration:
        """Return its configuration. Raises PolicyError."""
        try:
            release = get_release(self.release, self.gates, self.files)
        except ReleaseError as error:
            raise PolicyError(str(error)) from None
        return load_configuration(self.text, release)


def load_policy(policy: PolicyFile | Json) -> Configuration:
    """Return the configuration of a file or of one of ``list_policies``. Raises PolicyError."""
    return policy.load() if isinstance(policy, PolicyFile) else load_configuration(policy)


def to_text(document: Json) -> str:
    """Return the document as JSON, which is YAML too; equal documents give equal texts."""
    return json.dumps(document, sort_keys=True)
