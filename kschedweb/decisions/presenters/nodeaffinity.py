"""NodeAffinity: labels that the pod requires, and those that it prefers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, args_of, by_the_highest
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.plugins.nodeaffinity import POD_AFFINITY_FACT
from kschedweb.engine.state.nodematching import matches_term
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.labels import Requirement


LABELS = gettext_noop("give the node these labels, or change the pod's selector")


class NodeAffinityPresenter(Presenter):
    description = _("Adds the weights of the preferred terms of node affinity that the node matches.")
    short = {POD_AFFINITY_FACT: _("does not match the pod's node selector or affinity")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        labels, name = snapshot.nodes[node].labels, snapshot.names[node]
        wrong = [
            f"{key}={value} ({_describe_label(labels, key)})"
            for key, value in sorted((pod.node_selector or {}).items())
            if labels.get(key) != value
        ]
        if wrong:
            return VerdictReading(
                gettext("the pod's nodeSelector asks %(name)s for %(listed)s")
                % {"name": name, "listed": join_with_and(wrong)},
                gettext(LABELS),
            )
        terms = pod.node_affinity.required or ()
        failing = [
            _describe_requirement(item, labels) for term in terms for item in term.labels if not item.matches(labels)
        ] or [gettext("a term that names nodes by field") if terms else gettext("a term, but the pod lists none")]
        return VerdictReading(
            gettext("the pod's node affinity asks %(name)s for %(listed)s")
            % {"name": name, "listed": join_with_and(failing)},
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
            holds = not item.term.is_empty and bool(matches_term(case.snapshot, item.term)[node])
            text = " and ".join(
                f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in item.term.labels
            )
            outcome = f"+{item.weight}" if holds else gettext("does not match")
            result.steps.append(
                ArithmeticStep(
                    gettext("Weight %(weight)s") % {"weight": item.weight}, text or gettext("an empty term"), outcome
                )
            )
            total += item.weight if holds else 0
        result.computed = total

    def normalization(self, raws: list[int], raw: int) -> str:
        return by_the_highest(raws, raw)


def _describe_label(labels: dict[str, str], key: str) -> str:
    return gettext("it has %(labels)s") % {"labels": labels[key]} if key in labels else gettext("it has no such label")


def _describe_requirement(item: Requirement, labels: dict[str, str]) -> str:
    values = f" {', '.join(item.values)}" if item.values else ""
    return f"{item.key} {item.operator}{values} ({_describe_label(labels, item.key)})"


PRESENTER = NodeAffinityPresenter("NodeAffinity")
