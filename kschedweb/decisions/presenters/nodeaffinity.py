"""NodeAffinity: labels that the pod requires, and those that it prefers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, args_of, by_the_highest
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.plugins.nodeaffinity import OWN
from kschedweb.engine.state.nodematching import matches_term
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.labels import Requirement


LABELS = gettext_noop("give the node these labels, or change the pod's selector")


class Affinity(Presenter):
    about = _("Adds the weights of the preferred terms of node affinity that the node matches.")
    short = {OWN: _("does not match the pod's node selector or affinity")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        labels, name = snapshot.nodes[node].labels, snapshot.names[node]
        wrong = [
            f"{key}={value} ({_has(labels, key)})"
            for key, value in sorted((pod.node_selector or {}).items())
            if labels.get(key) != value
        ]
        if wrong:
            return Reading(
                gettext("the pod's nodeSelector asks %(name)s for %(listed)s")
                % {"name": name, "listed": listed(wrong)},
                gettext(LABELS),
            )
        terms = pod.node_affinity.required or ()
        failing = [_condition(item, labels) for term in terms for item in term.labels if not item.matches(labels)] or [
            gettext("a term that names nodes by field") if terms else gettext("a term, but the pod lists none")
        ]
        return Reading(
            gettext("the pod's node affinity asks %(name)s for %(listed)s") % {"name": name, "listed": listed(failing)},
            gettext(LABELS),
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        if args_of(case, self.plugin).get("addedAffinity"):
            result.about += gettext(" The profile adds terms of its own, which count as well.")
            return
        total = 0
        for item in case.pod.node_affinity.preferred or ():
            if item.term.fields:
                return
            holds = not item.term.empty and bool(matches_term(case.snapshot, item.term)[node])
            text = " and ".join(
                f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in item.term.labels
            )
            said = f"+{item.weight}" if holds else gettext("does not match")
            result.steps.append(
                Step(gettext("Weight %(weight)s") % {"weight": item.weight}, text or gettext("an empty term"), said)
            )
            total += item.weight if holds else 0
        result.computed = total

    def normalization(self, raws: list[int], raw: int) -> str:
        return by_the_highest(raws, raw)


def _has(labels: dict[str, str], key: str) -> str:
    return gettext("it has %(labels)s") % {"labels": labels[key]} if key in labels else gettext("it has no such label")


def _condition(item: Requirement, labels: dict[str, str]) -> str:
    values = f" {', '.join(item.values)}" if item.values else ""
    return f"{item.key} {item.operator}{values} ({_has(labels, item.key)})"


PRESENTER = Affinity("NodeAffinity")
