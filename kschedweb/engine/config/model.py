"""A configuration ready for use by the engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class Profile:
    """The policy of one scheduler name.

    ``points`` maps each of ``EXTENSION_POINTS`` to its plugins in calling order, with weights at ``score``;
    ``args`` maps a plugin to its arguments after defaults, as plain JSON (durations as text).
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: dict[str, tuple[PluginRef, ...]]
    args: dict[str, Any]

    def without_plugins(self, plugins: Collection[str]) -> Profile:
        """The same profile where these plugins are not enabled anywhere."""
        points = {point: tuple(ref for ref in refs if ref.name not in plugins) for point, refs in self.points.items()}
        return replace(self, points=points)


@dataclass(frozen=True)
class Configuration:
    """A valid KubeSchedulerConfiguration after defaults.

    ``percentage_of_nodes_to_score`` is 0 for "adapt to the cluster"; ``extenders`` are plain JSON with
    ``httpTimeout`` set; ``document`` is the whole configuration as a file that kube-scheduler takes;
    ``release`` is the kube-scheduler that runs it; ``leader_election`` is what the document itself says under
    leaderElection, without defaults (durations as text).
    """

    profiles: tuple[Profile, ...]
    percentage_of_nodes_to_score: int
    parallelism: int
    extenders: tuple[dict[str, Any], ...]
    document: dict[str, Any]
    release: Release = field(repr=False)
    leader_election: dict[str, Any] = field(default_factory=dict, compare=False)

    def weight_path(self, profile: int, plugin: str) -> str:
        """The path in the document of the weight that ``plugin`` has for scoring in the profile at that position."""
        return f"profiles[{profile}].plugins.score.enabled[{plugin}].weight"

    def find_profile(self, scheduler_name: str) -> Profile | None:
        """Return the profile of ``scheduler_name``, ``None`` where there is none."""
        return next((profile for profile in self.profiles if profile.scheduler_name == scheduler_name), None)
