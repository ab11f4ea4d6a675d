"""The effect of a scenario on its cluster, in short sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, ngettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import ScalerComes, WorkloadLeaves, WorkloadScales, events
from kschedweb.engine.studies.document.parts import DAY, Generate, ScenarioDocument, Trace
from kschedweb.playground.scenarios.schema import spell_duration
from kschedweb.web.counting import format_count, ngettext_noop
from kschedweb.web.durations import format_duration
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.prepare.prepared import PreparedScenario

# Singular and plural for each kind of event that is counted, in the order of the sentences.
_WORDS: dict[type[events.SimulationEvent], tuple[str, str]] = {
    events.PodLeaves: ngettext_noop("%(number)s pod is deleted", "%(number)s pods are deleted"),
    events.PodChanges: ngettext_noop("%(number)s pod is changed", "%(number)s pods are changed"),
    events.PodIsEvicted: ngettext_noop("%(number)s pod is evicted", "%(number)s pods are evicted"),
    events.NodeJoins: ngettext_noop("%(number)s node joins", "%(number)s nodes join"),
    events.NodeLeaves: ngettext_noop("%(number)s node leaves", "%(number)s nodes leave"),
    events.NodeChanges: ngettext_noop("%(number)s node is changed", "%(number)s nodes are changed"),
    events.NodeDrains: ngettext_noop("%(number)s node is drained", "%(number)s nodes are drained"),
    events.NodeFallsSilent: ngettext_noop("%(number)s node falls silent", "%(number)s nodes fall silent"),
    ScalerComes: ngettext_noop(
        "%(number)s workload is scaled by its load or by cron",
        "%(number)s workloads are scaled by their load or by cron",
    ),
    WorkloadScales: ngettext_noop(
        "%(number)s scaled workload is scaled by hand", "%(number)s scaled workloads are scaled by hand"
    ),
    WorkloadLeaves: ngettext_noop("%(number)s scaled workload is deleted", "%(number)s scaled workloads are deleted"),
}
# Sentences by `use.from` of a document.
_USED = {
    "none": _("nothing is measured; annotations of nodes count as they are"),
    "watermarks": _("what was measured when the snapshot was taken; pods take their use along when they move"),
    "history": _(
        "what was measured in the {window} before the snapshot, one time after the other; pods take their use along "
        "when they move"
    ),
    "trace": _("recorded use of machines, dealt out to the workloads"),
}
# Notes in a preview; the others are counted.
MOST_NOTES = 20
# Pods of each arrival in a preview, which takes about a second.
MOST_ARRIVING = 20_000


@dataclass(frozen=True)
class Effect:
    """The effect of a scenario."""

    # Nodes and pods at the beginning.
    nodes: int
    bound: int
    waiting: int
    # Sentences about events.
    sentences: list[str]
    # Notes on what was left out or interpreted.
    notes: list[str]
    # Notes beyond MOST_NOTES.
    more_notes: int = 0

    @property
    def beginning(self) -> str:
        """The cluster at the beginning, such as ``60 nodes and 1 pod on them``."""
        args = {
            "nodes": format_count(self.nodes, "nodes") if self.nodes else gettext("no node"),
            "pods": format_count(self.bound, "pods") if self.bound else gettext("no pod"),
        }
        return ngettext("%(nodes)s and %(pods)s on it", "%(nodes)s and %(pods)s on them", self.nodes) % args


def describe_real_use(document: Mapping[str, Any]) -> str:
    """Return a sentence on where a document's real use comes from; ``document`` is plain data."""
    section = document.get("use")
    use = section if isinstance(section, Mapping) else {}
    return _USED.get(str(use.get("from")), _USED["none"]).format(window=spell_duration(use.get("window") or DAY))


def shorten_document(document: ScenarioDocument) -> ScenarioDocument:
    """Return ``document`` with at most about MOST_ARRIVING pods of each arrival, for a preview."""

    def shorten_part(part: Trace | Generate) -> Trace | Generate:
        if isinstance(part, Trace):
            # Changes may name workloads of the records, so all of them stay.
            if part.format == "records":
                return part
            return replace(part, limit=min(part.limit or MOST_ARRIVING, MOST_ARRIVING))
        return replace(part, end=min(part.end, _last_arrival(part)))

    return replace(document, arrivals=tuple(map(shorten_part, document.arrivals)))


def _last_arrival(part: Generate) -> float:
    """Return the time, in seconds, at which MOST_ARRIVING pods have arrived at the highest rate."""
    return part.at + MOST_ARRIVING * 3600.0 / part.per_hour


def describe_effect(
    before: Sequence[Json], prepared: PreparedScenario, document: ScenarioDocument | None = None
) -> Effect:
    """Describe ``prepared``; ``before`` are the objects of the base.

    ``document`` is the whole document if ``prepared`` was made from a shortened one (:func:`shorten_document`).
    """
    cut = document is not None and any(
        isinstance(arrival, Generate) and arrival.end > _last_arrival(arrival) for arrival in document.arrivals
    )
    old, new = _names_of(before, "Node"), _names_of(prepared.objects, "Node")
    bound_before = {key for key, pod in _pods_by_key(before).items() if _node_of(pod)}
    bound = {key for key, pod in _pods_by_key(prepared.objects).items() if _node_of(pod)}
    first = [event for event in prepared.events if isinstance(event, events.PodArrives) and event.time == 0]
    # Recordings list pods that were on a node from the beginning as arrivals at time 0.
    recorded = {key for key, pod in _pods_by_key(map(_raw_pod, first)).items() if _node_of(pod)}
    bound, waiting = bound | recorded, len(first) - len(recorded)
    sentences = [
        _count_sentence(len(new - old), ngettext_noop("%(number)s node added", "%(number)s nodes added")),
        _count_sentence(len(old - new), ngettext_noop("%(number)s node removed", "%(number)s nodes removed")),
        _count_sentence(
            _count_changed(before, prepared.objects),
            ngettext_noop("%(number)s node changed", "%(number)s nodes changed"),
        ),
        _count_sentence(
            len(bound_before - bound),
            ngettext_noop("%(number)s pod taken off its node", "%(number)s pods taken off their nodes"),
        ),
        _count_sentence(
            waiting,
            ngettext_noop("%(number)s pod to place from the beginning", "%(number)s pods to place from the beginning"),
        ),
        *_later_sentences(prepared.events, cut),
    ]
    effects, notes = [sentence for sentence in sentences if sentence], prepared.notes
    return Effect(len(new), len(bound), waiting, effects, notes[:MOST_NOTES], max(len(notes) - MOST_NOTES, 0))


def _later_sentences(listed: Sequence[events.SimulationEvent], cut: bool) -> list[str]:
    """Return sentences on what happens after the beginning; ``cut`` if arrivals were left out."""
    arriving = [event.time for event in listed if isinstance(event, events.PodArrives) and event.time > 0]
    sentences = []
    if arriving:
        args = {
            "pods": f"{len(arriving):,}",
            "begin": format_duration(min(arriving)),
            "end": format_duration(max(arriving)),
        }
        sentence = ngettext(
            "%(pods)s pod arrives between %(begin)s and %(end)s",
            "%(pods)s pods arrive between %(begin)s and %(end)s",
            len(arriving),
        )
        # A shortened preview knows only a lower bound.
        if cut or len(arriving) >= MOST_ARRIVING:
            sentence = gettext("at least %(pods)s pods arrive between %(begin)s and %(end)s")
        sentences.append(sentence % args)
    counts = Counter(type(event) for event in listed)
    for kind, forms in _WORDS.items():
        times = [event.time for event in listed if isinstance(event, kind)]
        if counts[kind]:
            args = {"said": _count_sentence(counts[kind], forms), "when": format_duration(min(times))}
            sentences.append(gettext("%(said)s from %(when)s on") % args)
    return sentences


def _count_changed(before: Sequence[Json], after: Sequence[Json]) -> int:
    old = {node["metadata"]["name"]: node for node in before if node.get("kind") == "Node"}
    new = {node["metadata"]["name"]: node for node in after if node.get("kind") == "Node"}
    # Most nodes are the same object as before, which is quicker to see than equality.
    return sum(old[name] is not node and old[name] != node for name, node in new.items() if name in old)


def _names_of(listed: Sequence[Json], kind: str) -> set[str]:
    return {manifest["metadata"]["name"] for manifest in listed if manifest.get("kind") == kind}


def _raw_pod(event: events.PodArrives) -> Json:
    return event.pod.raw if isinstance(event.pod, Pod) else event.pod


def _pods_by_key(listed: Iterable[Json]) -> dict[str, Json]:
    return {
        f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}": pod
        for pod in listed
        if pod.get("kind") == "Pod"
    }


def _node_of(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _count_sentence(number: int, forms: tuple[str, str]) -> str:
    return ngettext(*forms, number) % {"number": f"{number:,}"} if number else ""
