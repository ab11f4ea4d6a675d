"""The sweep that a new site begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_noop

from kschedweb.playground.scenarios.examples import revision_newest
from kschedweb.playground.sweeps.models import Method
from kschedweb.playground.sweeps.services import sweep_start
from kschedweb.policies.selectors import DEFAULT_POLICY

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.sweeps.models import Sweep

TITLE = gettext_noop("Example: how uneven do nodes get when more are empty?")
# Eight trials of a fraction of a second each.
SPACE = [
    {"path": "profiles[0].plugins.score.enabled[NodeResourcesFit].weight", "values": [1, 3, 6, 10]},
    {
        "path": "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type",
        "values": ["LeastAllocated", "MostAllocated"],
    },
]
OBJECTIVES = [{"measure": "nodes_empty"}, {"measure": "spread_cpu_end"}]


def sweep_example(id: UUID) -> Sweep:
    """Start to vary how strongly the default policy prefers empty or full nodes."""
    return sweep_start(
        user=None,
        revision=revision_newest(),
        policy=DEFAULT_POLICY,
        space=SPACE,
        objectives=OBJECTIVES,
        method=Method.GRID,
        title=TITLE,
        id=id,
    )
