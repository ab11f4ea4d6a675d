"""The effect of a scenario on its cluster, in short sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, ngettext

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import events
from kschedweb.engine.studies.document.parts import DAY, Document, Generate, Trace
from kschedweb.playground.scenarios.schema import duration
from kschedweb.web.counting import counted, ngettext_noop
from kschedweb.web.durations import format_duration
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.prepare.prepared import Prepared

_WORDS: dict[type[events.Event], tuple[str, str]] = {
    events.PodLeaves: ngettext_noop("%(number)s pod is deleted", "%(number)s pods are deleted"),
    events.PodChanges: ngettext_noop("%(number)s pod is changed", "%(number)s pods are changed"),
    events.PodIsEvicted: ngettext_noop("%(number)s pod is evicted", "%(number)s pods are evicted"),
    events.NodeJoins: ngettext_noop("%(number)s node joins", "%(number)s nodes join"),
    events.NodeLeaves: ngettext_noop("%(number)s node leaves", "%(number)s nodes leave"),
    events.NodeChanges: ngettext_noop("%(number)s node is changed", "%(number)s nodes are changed"),
    events.NodeDrains: ngettext_noop("%(number)s node is drained", "%(number)s nodes are drained"),
    events.NodeFallsSilent: ngettext_noop("%(number)s node falls silent", "%(number)s nodes fall silent"),
    events.ScalerComes: ngettext_noop(
        "%(number)s workload is scaled by its load or by cron",
        "%(number)s workloads are scaled by their load or by cron",
    ),
    events.WorkloadScales: ngettext_noop(
        "%(number)s scaled workload is scaled by hand", "%(number)s scaled workloads are scaled by hand"
    ),
    events.WorkloadLeaves: ngettext_noop(
        "%(number)s scaled workload is deleted", "%(number)s scaled workloads are deleted"
    ),
}
_USED = {
    "none": _("nothing is measured; annotations of nodes count as they are"),
    "watermarks": _("what was measured when the snapshot was taken; pods take their use along when they move"),
    "history": _(
        "what was measured in the {window} before the snapshot, one time after the other; pods take their use along "
        "when they move"
    ),
    "trace": _("recorded use of machines, dealt out to the workloads"),
}
MOST_NOTES = 20
MOST_ARRIVING = 20_000  # pods of each arrival in a preview, which takes about a second


@dataclass(frozen=True)
class Effect:
    """Counts at the beginning, sentences about events, and notes on what was left out or interpreted."""

    nodes: int
    bound: int
    waiting: int
    sentences: list[str]
    notes: list[str]
    more_notes: int = 0

    @property
    def beginning(self) -> str:
        """Such as ``60 nodes and 1 pod on them``."""
        told = {
            "nodes": counted(self.nodes, "nodes") if self.nodes else gettext("no node"),
            "pods": counted(self.bound, "pods") if self.bound else gettext("no pod"),
        }
        return ngettext("%(nodes)s and %(pods)s on it", "%(nodes)s and %(pods)s on them", self.nodes) % told


def used(document: Mapping[str, Any]) -> str:
    """The source of real use in a document's plain data."""
    asked = document.get("use")
    said = asked if isinstance(asked, Mapping) else {}
    return _USED.get(str(said.get("from")), _USED["none"]).format(window=duration(said.get("window") or DAY))


def shortened(document: Document) -> Document:
    """``document`` with at most about MOST_ARRIVING pods of each arrival, for a preview."""

    def short(part: Trace | Generate) -> Trace | Generate:
        if isinstance(part, Trace):
            if part.format == "records":  # changes may name its workloads
                return part
            return replace(part, limit=min(part.limit or MOST_ARRIVING, MOST_ARRIVING))
        return replace(part, until=min(part.until, _last(part)))

    return replace(document, arrivals=tuple(map(short, document.arrivals)))


def _last(part: Generate) -> float:
    """When MOST_ARRIVING pods have arrived at the highest rate."""
    return part.at + MOST_ARRIVING * 3600.0 / part.per_hour


def effect(before: Sequence[dict[str, Any]], prepared: Prepared, document: Document | None = None) -> Effect:
    """Describe ``prepared``; ``before`` are the objects of the base.

    ``document`` is given if ``prepared`` was made from it :func:`shortened`.
    """
    cut = document is not None and any(
        isinstance(one, Generate) and one.until > _last(one) for one in document.arrivals
    )
    old, new = _names(before, "Node"), _names(prepared.objects, "Node")
    bound_before = {key for key, one in _pods(before).items() if _node(one)}
    bound = {key for key, one in _pods(prepared.objects).items() if _node(one)}
    first = [one for one in prepared.events if isinstance(one, events.PodArrives) and one.time == 0]
    there = {key for key, one in _pods(map(_raw, first)).items() if _node(one)}  # recorded on their nodes
    bound, waiting = bound | there, len(first) - len(there)
    found = [
        _said(len(new - old), ngettext_noop("%(number)s node added", "%(number)s nodes added")),
        _said(len(old - new), ngettext_noop("%(number)s node removed", "%(number)s nodes removed")),
        _said(_changed(before, prepared.objects), ngettext_noop("%(number)s node changed", "%(number)s nodes changed")),
        _said(
            len(bound_before - bound),
            ngettext_noop("%(number)s pod taken off its node", "%(number)s pods taken off their nodes"),
        ),
        _said(
            waiting,
            ngettext_noop("%(number)s pod to place from the beginning", "%(number)s pods to place from the beginning"),
        ),
        *_later(prepared.events, cut),
    ]
    said, notes = [one for one in found if one], prepared.notes
    return Effect(len(new), len(bound), waiting, said, notes[:MOST_NOTES], max(len(notes) - MOST_NOTES, 0))


def _later(listed: Sequence[events.Event], cut: bool) -> list[str]:
    arriving = [one.time for one in listed if isinstance(one, events.PodArrives) and one.time > 0]
    found = []
    if arriving:
        told = {
            "pods": f"{len(arriving):,}",
            "begin": format_duration(min(arriving)),
            "end": format_duration(max(arriving)),
        }
        said = ngettext(
            "%(pods)s pod arrives between %(begin)s and %(end)s",
            "%(pods)s pods arrive between %(begin)s and %(end)s",
            len(arriving),
        )
        if cut or len(arriving) >= MOST_ARRIVING:
            said = gettext("at least %(pods)s pods arrive between %(begin)s and %(end)s")
        found.append(said % told)
    counts = Counter(type(one) for one in listed)
    for kind, forms in _WORDS.items():
        times = [event.time for event in listed if isinstance(event, kind)]
        if counts[kind]:
            told = {"said": _said(counts[kind], forms), "when": format_duration(min(times))}
            found.append(gettext("%(said)s from %(when)s on") % told)
    return found


def _changed(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> int:
    old = {one["metadata"]["name"]: one for one in before if one.get("kind") == "Node"}
    new = {one["metadata"]["name"]: one for one in after if one.get("kind") == "Node"}
    return sum(old[name] is not node and old[name] != node for name, node in new.items() if name in old)


def _names(listed: Sequence[dict[str, Any]], kind: str) -> set[str]:
    return {one["metadata"]["name"] for one in listed if one.get("kind") == kind}


def _raw(event: events.PodArrives) -> dict[str, Any]:
    return event.pod.raw if isinstance(event.pod, Pod) else event.pod


def _pods(listed: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        f"{one['metadata'].get('namespace') or 'default'}/{one['metadata']['name']}": one
        for one in listed
        if one.get("kind") == "Pod"
    }


def _node(pod: dict[str, Any]) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _said(number: int, forms: tuple[str, str]) -> str:
    return ngettext(*forms, number) % {"number": f"{number:,}"} if number else ""
