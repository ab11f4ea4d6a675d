"""The base of presenters, which also serves plugins without a presenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.page_parts import Arithmetic
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.state.columns import Ints

Args = Mapping[str, Any]


@dataclass(frozen=True)
class PolicyVariant:
    """A published variant of a policy."""

    # Its name in addresses.
    key: str
    label: str
    description: str
    args: Args = field(default_factory=dict)


class Presenter:
    """Puts verdicts and scores of one plugin into words.

    Modules of this folder define one; packages register theirs.
    """

    # What the score depends on.
    description = ""
    # How the plugin treats missing and old figures.
    missing = ""
    # Words for the facts of its verdicts, which follow a count: "31 nodes: …".
    short: Mapping[Any, str] = {}

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        """Return the plain reading of ``status``, the plugin's verdict on the node at a position."""
        return VerdictReading(f"{snapshot.names[node]}: {status.message or status.code}.")

    def in_short(self, pod: Pod, reason: str, fact: Any) -> str:
        """Return the words for ``reason`` with the fact ``fact``, which follow a count of nodes."""
        return str(self.short.get(fact, reason))

    def kinds(self, snapshot: EngineSnapshot, pod: Pod) -> Ints | None:
        """Return a number for each node that distinguishes equal verdicts, None if their words suffice."""
        return None

    def of_kind(self, snapshot: EngineSnapshot, pod: Pod, node: int) -> str:
        """Return the words for the nodes that have the kind of the one at a position; they follow "4,690 nodes: "."""
        return ""

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        """Add to ``result`` the arithmetic of the plugin's raw score on the node at a position."""

    def normalization(self, raws: list[int], raw: int) -> str:
        """Return how ``raw``, one of the raw scores, is normalised to 0 to 100, as a formula with numbers."""
        return gettext("already between 0 and 100")

    def list_variants(self, help: str) -> list[PolicyVariant]:
        """Return the forms in which a load-aware policy is compared with others; ``help`` describes it."""
        return [PolicyVariant(self.plugin, self.plugin, help)]

    def adapt_to_nodes(self, args: Args, nodes: Sequence[str]) -> Args:
        """Return ``args`` adapted to the names of the nodes, for plugins whose arguments contain names."""
        return args


def by_the_highest(raws: list[int], raw: int) -> str:
    """Return the words for `DefaultNormalizeScore`, kube-scheduler's default normalisation."""
    high = max(raws)
    return (
        gettext("the highest raw score is 0: unchanged")
        if high <= 0
        else gettext("100 × %(raw)s ÷ %(high)s (the highest raw score)") % {"raw": raw, "high": high}
    )


def args_of(case: Case, plugin: str) -> Json:
    """Return the arguments that the pod's profile gives to ``plugin``."""
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    return profile.args.get(plugin) or {}


def get_plugin(case: Case, plugin: str) -> Any:
    """Return the plugin as the profile made it from its arguments."""
    return case.scheduler.framework(case.pod).plugin(plugin)
