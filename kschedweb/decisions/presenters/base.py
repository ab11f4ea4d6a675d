"""What pages tell of a plugin, and what they tell of one that nothing more is known about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.words import Reading

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.parts import Arithmetic
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot

Args = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """One form in which a policy was published: ``key`` in addresses, and the arguments that make it."""

    key: str
    label: str
    about: str
    args: Args = field(default_factory=dict)


class Presenter:
    """Tells of the plugin called ``plugin``. A module of this folder makes one; a package names it as an entry point.

    ``about`` says what the score goes by, ``missing`` what the plugin does with missing and with old figures; ``short``
    has words for what its verdicts are about, to follow a count: "31 nodes: …".
    """

    about = ""
    missing = ""
    short: Mapping[Any, str] = {}

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        """What ``status``, the plugin's verdict on the node at a position, says in plain words."""
        return Reading(f"{snapshot.names[node]}: {status.message or status.code}.")

    def in_short(self, pod: Pod, reason: str, about: Any) -> str:
        """What a reason, which is about ``about``, says of a node, to follow a count."""
        return self.short.get(about, reason)

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        """Add to ``result`` how the plugin came to its raw score on the node at a position."""

    def normalization(self, raws: list[int], raw: int) -> str:
        """How ``raw``, one of the raw scores, becomes 0 to 100, with the numbers put in."""
        return "already between 0 and 100"

    def forms(self, help: str) -> list[Form]:
        """In which forms a load-aware policy is put beside others; ``help`` says in a sentence what it does."""
        return [Form(self.plugin, self.plugin, help)]

    def named(self, args: Args, nodes: Sequence[str]) -> Args:
        """``args`` for a cluster of nodes with these names, where the plugin goes by names."""
        return args


def by_the_highest(raws: list[int], raw: int) -> str:
    """The words for kube-scheduler's default normalisation."""
    high = max(raws)
    return "the highest raw score is 0: unchanged" if high <= 0 else f"100 × {raw} ÷ {high} (the highest raw score)"


def args_of(case: Case, plugin: str) -> dict[str, Any]:
    """The arguments that the pod's profile gives to ``plugin``."""
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    return profile.args.get(plugin) or {}


def instance(case: Case, plugin: str) -> Any:
    """The plugin as the profile made it from its arguments."""
    return case.scheduler.framework(case.pod).plugin(plugin)
