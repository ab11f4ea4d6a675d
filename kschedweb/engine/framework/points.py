"""The plugins of a profile, sorted once by what they can be asked.

Asking whether something follows a protocol takes longer than most of what is asked in a cycle.
"""

# mypy: disable-error-code="type-abstract"
# What is looked for is a protocol.

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
_FOLLOWS: dict[tuple[type, type], bool] = {}  # (class, protocol)


@cache
def _members(protocol: Any) -> frozenset[str]:
    """The names that ``protocol`` asks for; ``isinstance`` looks for them anew for each object."""
    bases = [base for base in protocol.__mro__ if base.__module__ not in ("typing", "builtins")]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return frozenset(name for name in names if not name.startswith("_"))


def _following(protocol: type[Protocol], plugins: Iterable[object]) -> list[Protocol]:
    """Those of ``plugins`` that follow ``protocol``; of each class one is asked."""
    found: list[Protocol] = []
    for one in plugins:
        asked = (type(one), protocol)
        if asked not in _FOLLOWS:
            _FOLLOWS[asked] = all(hasattr(one, name) for name in _members(cast(Any, protocol)))
        if _FOLLOWS[asked]:
            found.append(cast(Protocol, one))
    return found


@dataclass(slots=True)
class Points:
    """The plugins at each extension point, in the order in which they run; one that lacks the method is left out.

    What only some plugins can be asked is kept by their names.
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
    binds_all: bool = False  # whether a plugin of Reserve, PreBind, Bind or PostBind does not say whom it concerns

    @classmethod
    def of(cls, named: Mapping[str, Iterable[Plugin]]) -> Points:
        """Of plugins by the names that profiles give to extension points."""
        points = cls(
            _following(PreEnqueuePlugin, named.get("preEnqueue", ())),
            _following(QueueSortPlugin, named.get("queueSort", ())),
            _following(PreFilterPlugin, named.get("preFilter", ())),
            _following(FilterPlugin, named.get("filter", ())),
            _following(PostFilterPlugin, named.get("postFilter", ())),
            _following(PreScorePlugin, named.get("preScore", ())),
            _following(ScorePlugin, named.get("score", ())),
            _following(ReservePlugin, named.get("reserve", ())),
            _following(PermitPlugin, named.get("permit", ())),
            _following(PreBindPlugin, named.get("preBind", ())),
            _following(BindPlugin, named.get("bind", ())),
            _following(PostBindPlugin, named.get("postBind", ())),
        )
        points.extensions = _following(PreFilterExtensions, points.pre_filter)
        points.normalizing = {one.name: one for one in _following(NormalizeScorePlugin, points.score)}
        looking = (*points.pre_filter, *points.filter, *points.pre_score, *points.score)
        points.scoped = {one.name: one for one in _following(Scoped, looking)}
        points.asking = {one.name: one for one in _following(AskingPlugin, points.permit)}
        points.placement_generate = _following(PlacementGeneratePlugin, named.get("placementGenerate", ()))
        points.placement_score = _following(PlacementScorePlugin, named.get("placementScore", ()))
        points.pod_group_post_filter = _following(PodGroupPostFilterPlugin, named.get("podGroupPostFilter", ()))
        # It is no extension point of its own: whoever is there says it.
        everyone = {plugin.name: plugin for plugins in named.values() for plugin in plugins}
        points.placement_feasible = _following(PlacementFeasiblePlugin, everyone.values())
        points.freeing = _following(FreeingPlugin, points.pod_group_post_filter)
        points.preparing = {one.name: one for one in _following(Preparing, points.pre_bind)}
        placing: list[Plugin] = [*points.reserve, *points.pre_bind, *points.bind, *points.post_bind]
        binding = {plugin.name: plugin for plugin in placing}
        points.selective = _following(SelectivePlugin, binding.values())
        points.binds_all = len(points.selective) < len(binding)
        return points
