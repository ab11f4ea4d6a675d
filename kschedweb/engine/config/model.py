"""A configuration ready for use by the engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.specs import PluginArgs, PluginRef
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class Profile:
    """The policy of one scheduler name."""

    scheduler_name: str
    # ``None`` where the configuration's own value counts.
    percentage_of_nodes_to_score: int | None
    # The plugins of each of ``EXTENSION_POINTS`` in calling order, with weights at ``score``.
    points: dict[str, tuple[PluginRef, ...]]
    # The arguments of each plugin after defaults, as plain JSON (durations as text).
    args: dict[str, PluginArgs]
    # As for nodes, of the placements of a group.
    percentage_of_placements_to_score: int | None = None

    def without_plugins(self, plugins: Collection[str]) -> Profile:
        """Return the same profile without these plugins at any point."""
        points = {point: tuple(ref for ref in refs if ref.name not in plugins) for point, refs in self.points.items()}
        return replace(self, points=points)


@dataclass(frozen=True)
class Configuration:
    """A valid KubeSchedulerConfiguration after defaults."""

    profiles: tuple[Profile, ...]
    # 0 means "adapt to the number of nodes".
    percentage_of_nodes_to_score: int
    parallelism: int
    # Plain JSON with ``httpTimeout`` set.
    extenders: tuple[Json, ...]
    # The whole configuration as a file that kube-scheduler accepts.
    document: Json
    # The release of kube-scheduler that runs it.
    release: Release = field(repr=False)
    # The document's own fields of leaderElection, without defaults (durations as text).
    leader_election: Json = field(default_factory=dict, compare=False)
    # 0 adapts to the nodes of all placements; ``None`` if the release or its feature gates do not have it.
    percentage_of_placements_to_score: int | None = None

    def weight_path(self, profile: int, plugin: str) -> str:
        """Return the document's path of the weight of ``plugin`` at ``score``, in the profile at that position."""
        return f"profiles[{profile}].plugins.score.enabled[{plugin}].weight"

    @property
    def weighs_use(self) -> bool:
        """True if a plugin that runs looks at what nodes really use."""
        specs = self.release.registry.specs
        refs = (ref for profile in self.profiles for refs in profile.points.values() for ref in refs)
        return any(specs[ref.name].load_aware for ref in refs if ref.name in specs)

    def find_profile(self, scheduler_name: str) -> Profile | None:
        """Return the profile of ``scheduler_name``; ``None`` if there is none."""
        return next((profile for profile in self.profiles if profile.scheduler_name == scheduler_name), None)
