"""NodeAffinity: labels that the pod requires, and those that it prefers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, args_of, by_the_highest
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.plugins.nodeaffinity import OWN
from kschedweb.engine.state.nodematching import matches_term

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.labels import Requirement


class Affinity(Presenter):
    about = "Adds the weights of the preferred terms of node affinity that the node matches."
    short = {OWN: "does not match the pod's node selector or affinity"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        labels, name = snapshot.nodes[node].labels, snapshot.names[node]
        wrong = [
            f"{key}={value} ({_has(labels, key)})"
            for key, value in sorted((pod.node_selector or {}).items())
            if labels.get(key) != value
        ]
        if wrong:
            return Reading(f"asks by nodeSelector for {listed(wrong)} of {name}", "a node with these labels would do")
        terms = pod.node_affinity.required or ()
        failing = [_condition(item, labels) for term in terms for item in term.labels if not item.matches(labels)] or [
            "a term that names nodes by field" if terms else "a term, but the pod lists none"
        ]
        return Reading(f"asks by node affinity for {listed(failing)} of {name}", "a node with these labels would do")

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        if args_of(case, self.plugin).get("addedAffinity"):
            result.about += " The profile adds terms of its own, which count as well."
            return
        total = 0
        for item in case.pod.node_affinity.preferred or ():
            if item.term.fields:
                return
            holds = not item.term.empty and bool(matches_term(case.snapshot, item.term)[node])
            text = " and ".join(
                f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in item.term.labels
            )
            said = f"+{item.weight}" if holds else "does not match"
            result.steps.append(Step(f"Weight {item.weight}", text or "an empty term", said))
            total += item.weight if holds else 0
        result.computed = total

    def normalization(self, raws: list[int], raw: int) -> str:
        return by_the_highest(raws, raw)


def _has(labels: dict[str, str], key: str) -> str:
    return f"it has {labels[key]}" if key in labels else "it has no such label"


def _condition(item: Requirement, labels: dict[str, str]) -> str:
    values = f" {', '.join(item.values)}" if item.values else ""
    return f"{item.key} {item.operator}{values} ({_has(labels, item.key)})"


PRESENTER = Affinity("NodeAffinity")
