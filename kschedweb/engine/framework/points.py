"""The plugins of a profile, sorted once by what they can be asked.

Asking whether something follows a protocol takes longer than most of what is asked in a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
)


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
    extensions: list[PreFilterExtensions] = field(default_factory=list)
    normalizing: dict[str, NormalizeScorePlugin] = field(default_factory=dict)
    scoped: dict[str, Scoped] = field(default_factory=dict)
    asking: dict[str, AskingPlugin] = field(default_factory=dict)
    preparing: dict[str, Preparing] = field(default_factory=dict)

    @classmethod
    def of(cls, named: Mapping[str, Sequence[Plugin]]) -> Points:
        """Of plugins by the names that profiles give to extension points."""

        def at(point: str) -> Sequence[Plugin]:
            return named.get(point, ())

        points = cls(
            [one for one in at("preEnqueue") if isinstance(one, PreEnqueuePlugin)],
            [one for one in at("queueSort") if isinstance(one, QueueSortPlugin)],
            [one for one in at("preFilter") if isinstance(one, PreFilterPlugin)],
            [one for one in at("filter") if isinstance(one, FilterPlugin)],
            [one for one in at("postFilter") if isinstance(one, PostFilterPlugin)],
            [one for one in at("preScore") if isinstance(one, PreScorePlugin)],
            [one for one in at("score") if isinstance(one, ScorePlugin)],
            [one for one in at("reserve") if isinstance(one, ReservePlugin)],
            [one for one in at("permit") if isinstance(one, PermitPlugin)],
            [one for one in at("preBind") if isinstance(one, PreBindPlugin)],
            [one for one in at("bind") if isinstance(one, BindPlugin)],
            [one for one in at("postBind") if isinstance(one, PostBindPlugin)],
        )
        points.extensions = [one for one in points.pre_filter if isinstance(one, PreFilterExtensions)]
        points.normalizing = {one.name: one for one in points.score if isinstance(one, NormalizeScorePlugin)}
        looking = (*points.pre_filter, *points.filter, *points.pre_score, *points.score)
        points.scoped = {one.name: one for one in looking if isinstance(one, Scoped)}
        points.asking = {one.name: one for one in points.permit if isinstance(one, AskingPlugin)}
        points.preparing = {one.name: one for one in points.pre_bind if isinstance(one, Preparing)}
        return points
