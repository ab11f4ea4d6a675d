"""The catalogue of predicates and priorities: when each runs, which policies use it, and an evaluated example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.classic.examples import Example, example
from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import ORDER, V1_9, V1_13
from kschedweb.engine.releases.classic.describing import DESCRIBED, PREDICATE, PRIORITY, Described
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kschedweb.decisions.parts import FilterVerdict, NodeRow, Step

WORDS = {
    "mandatory": _("always"),
    "default": _("by default"),
    "by name": _("if named"),
    "by argument": _("by its argument"),
    "never": _("never"),
}
KINDS = {PREDICATE: _("predicate"), PRIORITY: _("priority")}


@dataclass(frozen=True)
class CatalogueEntry:
    """A predicate or priority; ``place`` is its number in the fixed order, 0 for none; ``policies`` use it."""

    what: Described
    place: int
    policies: list[str]

    @property
    def standings(self) -> dict[str, str]:
        """When it runs in each version: "mandatory", "default", "by name", "by argument" or "never"."""
        return {version: self.what.standing(Edition(version)) for version in (V1_13, V1_9)}

    @property
    def runs(self) -> dict[str, str]:
        """``standings`` in words; what has to be switched on is treated as switched on."""
        said = {}
        for version, standing in self.standings.items():
            switched = self.what.standing(Edition(version, frozenset({self.what.switch})))
            if standing == "never" and switched != "never":
                said[version] = gettext("%(when)s, where switched on") % {"when": WORDS[switched]}
            else:
                said[version] = str(WORDS[standing])
        return said

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return str(KINDS[self.what.kind])

    @property
    def weight(self) -> int | None:
        """The weight of a priority in the default provider; ``None`` if it is not there."""
        weights = Edition(gates=frozenset({self.what.switch})).default_priorities
        return None if self.what.kind == PREDICATE else weights.get(self.what.name)


@dataclass(frozen=True)
class ExampleNode:
    """One node of an example: the verdict of a predicate, or the steps to the score of a priority."""

    row: NodeRow
    verdict: FilterVerdict | None = None
    steps: Sequence[Step] = ()


def entries(uses: Mapping[str, list[str]]) -> list[CatalogueEntry]:
    """Predicates in their order, then priorities; ``uses`` has names of policies by predicate or priority."""
    places = {name: number for number, name in enumerate(ORDER, start=1)}
    return [CatalogueEntry(one, places.get(name, 0), uses.get(name, [])) for name, one in DESCRIBED.items()]


def shown(what: Described) -> tuple[Example, list[ExampleNode]]:
    """The example, and the engine's answer for each of its nodes by name."""
    found = example(what.name)
    decision = found.decision
    nodes = sorted(range(len(decision.explanation.nodes)), key=lambda node: decision.explanation.nodes[node])
    lines = []
    for node, row in zip(nodes, decision.rows(nodes), strict=True):
        if what.kind == PREDICATE:
            said = [verdict for verdict in decision.verdicts(node) if verdict.plugin == what.name]
            lines.append(ExampleNode(row, said[0]))
        else:
            lines.append(ExampleNode(row, steps=decision.worked(node, what.name).steps[:-1]))
    return found, lines


def trimmed(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An object of an example without empty fields."""
    return {key: value for key, value in ((key, _kept(value)) for key, value in raw.items()) if value not in ({}, [])}


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return trimmed(value)
    return [_kept(item) for item in value] if isinstance(value, list) else value
