"""The plugins of a profile, sorted once by the extension points that they implement.

Checking whether an object follows a protocol takes longer than most calls of a cycle.
"""

# mypy: disable-error-code="type-abstract"
# The classes that plugins are checked against are protocols, which mypy takes for abstract classes.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, TypeVar, cast

from kschedweb.engine.framework.groups import (
    FreeingPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
)
from kschedweb.engine.framework.interface import (
    AskingPlugin,
    BindPlugin,
    FilterPlugin,
    NormalizeScorePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    Preparing,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    Scoped,
    ScorePlugin,
    SelectivePlugin,
)
from kschedweb.engine.values import dataclass

Protocol = TypeVar("Protocol")
# By (class, protocol), whether the class follows the protocol.
_FOLLOWS: dict[tuple[type, type], bool] = {}


@cache
def _protocol_members(protocol: Any) -> frozenset[str]:
    """Return the names that ``protocol`` requires. ``isinstance`` looks for them anew for each object."""
    bases = [base for base in protocol.__mro__ if base.__module__ not in ("typing", "builtins")]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return frozenset(name for name in names if not name.startswith("_"))


def _plugins_implementing(protocol: type[Protocol], plugins: Iterable[object]) -> list[Protocol]:
    """Return the ``plugins`` that follow ``protocol``; only one of each class is checked."""
    matching: list[Protocol] = []
    for plugin in plugins:
        key = (type(plugin), protocol)
        if key not in _FOLLOWS:
            _FOLLOWS[key] = all(hasattr(plugin, name) for name in _protocol_members(cast(Any, protocol)))
        if _FOLLOWS[key]:
            matching.append(cast(Protocol, plugin))
    return matching


@dataclass(slots=True)
class Points:
    """The plugins at each extension point, in the order in which they run.

    A plugin that lacks the method is left out. Extensions that only some plugins have are kept by the plugin's name.
    """

    pre_enqueue: list[PreEnqueuePlugin] = field(default_factory=list)
    queue_sort: list[QueueSortPlugin] = field(default_factory=list)
    pre_filter: list[PreFilterPlugin] = field(default_factory=list)
    filter: list[FilterPlugin] = field(default_factory=list)
    post_filter: list[PostFilterPlugin] = field(default_factory=list)
    pre_score: list[PreScorePlugin] = field(default_factory=list)
    score: list[ScorePlugin] = field(default_factory=list)
    reserve: list[ReservePlugin] = field(default_factory=list)
    permit: list[PermitPlugin] = field(default_factory=list)
    pre_bind: list[PreBindPlugin] = field(default_factory=list)
    bind: list[BindPlugin] = field(default_factory=list)
    post_bind: list[PostBindPlugin] = field(default_factory=list)
    placement_feasible: list[PlacementFeasiblePlugin] = field(default_factory=list)
    placement_generate: list[PlacementGeneratePlugin] = field(default_factory=list)
    placement_score: list[PlacementScorePlugin] = field(default_factory=list)
    pod_group_post_filter: list[PodGroupPostFilterPlugin] = field(default_factory=list)
    freeing: list[FreeingPlugin] = field(default_factory=list)
    extensions: list[PreFilterExtensions] = field(default_factory=list)
    normalizing: dict[str, NormalizeScorePlugin] = field(default_factory=dict)
    scoped: dict[str, Scoped] = field(default_factory=dict)
    asking: dict[str, AskingPlugin] = field(default_factory=dict)
    preparing: dict[str, Preparing] = field(default_factory=dict)
    selective: list[SelectivePlugin] = field(default_factory=list)
    # A plugin of Reserve, PreBind, Bind or PostBind is not selective, so these points run for every pod.
    binds_all: bool = False

    @classmethod
    def from_plugins(cls, by_point: Mapping[str, Iterable[Plugin]]) -> Points:
        """Sort plugins that are given by the extension points' names in profiles."""
        points = cls(
            _plugins_implementing(PreEnqueuePlugin, by_point.get("preEnqueue", ())),
            _plugins_implementing(QueueSortPlugin, by_point.get("queueSort", ())),
            _plugins_implementing(PreFilterPlugin, by_point.get("preFilter", ())),
            _plugins_implementing(FilterPlugin, by_point.get("filter", ())),
            _plugins_implementing(PostFilterPlugin, by_point.get("postFilter", ())),
            _plugins_implementing(PreScorePlugin, by_point.get("preScore", ())),
            _plugins_implementing(ScorePlugin, by_point.get("score", ())),
            _plugins_implementing(ReservePlugin, by_point.get("reserve", ())),
            _plugins_implementing(PermitPlugin, by_point.get("permit", ())),
            _plugins_implementing(PreBindPlugin, by_point.get("preBind", ())),
            _plugins_implementing(BindPlugin, by_point.get("bind", ())),
            _plugins_implementing(PostBindPlugin, by_point.get("postBind", ())),
        )
        points.extensions = _plugins_implementing(PreFilterExtensions, points.pre_filter)
        points.normalizing = {
            plugin.name: plugin for plugin in _plugins_implementing(NormalizeScorePlugin, points.score)
        }
        looking = (*points.pre_filter, *points.filter, *points.pre_score, *points.score)
        points.scoped = {plugin.name: plugin for plugin in _plugins_implementing(Scoped, looking)}
        points.asking = {plugin.name: plugin for plugin in _plugins_implementing(AskingPlugin, points.permit)}
        points.placement_generate = _plugins_implementing(
            PlacementGeneratePlugin, by_point.get("placementGenerate", ())
        )
        points.placement_score = _plugins_implementing(PlacementScorePlugin, by_point.get("placementScore", ()))
        points.pod_group_post_filter = _plugins_implementing(
            PodGroupPostFilterPlugin, by_point.get("podGroupPostFilter", ())
        )
        # Before 1.38 PlacementFeasible is no extension point of a profile: every plugin that has the method is asked.
        everyone = {plugin.name: plugin for plugins in by_point.values() for plugin in plugins}.values()
        points.placement_feasible = _plugins_implementing(
            PlacementFeasiblePlugin, by_point.get("placementFeasible", everyone)
        )
        points.freeing = _plugins_implementing(FreeingPlugin, points.pod_group_post_filter)
        points.preparing = {plugin.name: plugin for plugin in _plugins_implementing(Preparing, points.pre_bind)}
        placing: list[Plugin] = [*points.reserve, *points.pre_bind, *points.bind, *points.post_bind]
        binding = {plugin.name: plugin for plugin in placing}
        points.selective = _plugins_implementing(SelectivePlugin, binding.values())
        points.binds_all = len(points.selective) < len(binding)
        return points
