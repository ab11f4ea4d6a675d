"""One pod's answer in plain English: where it goes or why nowhere, the nearest miss, the best nodes, and fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import numpy as np

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE, Explanation
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import Requirement
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import find_untolerated
from kschedweb.engine.plugins.interpodaffinity import ANTI_AFFINITY_FACT, EXISTING_FACT, NEAR
from kschedweb.engine.plugins.nodeaffinity import POD_AFFINITY_FACT
from kschedweb.engine.plugins.noderesourcesfit import PODS
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.fixes.changes import Fix, ReadQueues
from kschedweb.engine.studies.fixes.devices import DeviceChain, find_device_chains
from kschedweb.engine.studies.fixes.owners import PodSource
from kschedweb.engine.studies.fixes.search import find_fixes, iterate_candidates
from kschedweb.engine.studies.fixes.shortages import find_resource_shortages, format_resource
from kschedweb.engine.values import dataclass

# Nodes with their scores.
BEST = 3
# Plain words for the reasons of plugins whose words do not depend on the node.
PHRASES = {
    "NodeUnschedulable": "are cordoned",
    "NodeAffinity": "do not match its node selector or affinity",
    "NodeName": "are not the node that it names",
    "NodePorts": "have a host port that it wants in use",
    "PodTopologySpread": "would break its topology spread constraint",
    "NodeVolumeLimits": "have no slot for another volume",
    "VolumeZone": "are outside the zone of its volume",
    "DynamicResources": "cannot give it the devices that it claims",
}


# Plain words for the facts of InterPodAffinity.
AFFINITY_PHRASES = {
    NEAR: "have no pod near that it must be with",
    ANTI_AFFINITY_FACT: "have a pod near that it must not be with",
    EXISTING_FACT: "have a pod near that keeps it away by its own anti-affinity",
}
# Of the verbs with which phrases begin.
SINGULAR = {"are": "is", "have": "has", "do": "does"}


class PodState(StrEnum):
    """State of a pod, as to its place."""

    # It has no node, and finds one.
    FITS = "fits"
    # It has no node, and finds none.
    STUCK = "stuck"
    # PreEnqueue keeps it out of the queue.
    GATED = "gated"
    # It runs on a node.
    BOUND = "bound"
    # No profile has its scheduler name.
    ELSEWHERE = "elsewhere"
    # The cycle ended in an error.
    FAILED = "failed"


@dataclass(frozen=True)
class Cause:
    """A reason that keeps a pod off some nodes."""

    plugin: str
    # In kube-scheduler's words, and in plain ones.
    reason: str
    text: str
    nodes: int

    @property
    def phrase(self) -> str:
        """The plain words, as they follow the number of nodes."""
        return to_singular(self.text) if self.nodes == 1 else self.text

    def to_dict(self) -> Json:
        return {"plugin": self.plugin, "reason": self.reason, "text": self.text, "nodes": self.nodes}


@dataclass(frozen=True)
class PodAnswer:
    """The fate of one pod."""

    pod: str
    state: PodState
    sentence: str
    scheduler: str
    # The node that it would get; "" for none.
    node: str = ""
    # The node that it has.
    bound_to: str = ""
    # kube-scheduler's message.
    message: str = ""
    causes: tuple[Cause, ...] = ()
    # The best nodes with their totals, and the totals by plugin.
    best: tuple[tuple[str, int, dict[str, int]], ...] = ()
    feasible: int = 0
    nearest: str = ""
    fixes: tuple[Fix, ...] = ()
    chains: tuple[DeviceChain, ...] = ()

    def to_dict(self) -> Json:
        return {
            "pod": self.pod,
            "state": str(self.state),
            "sentence": self.sentence,
            "scheduler": self.scheduler,
            "node": self.node,
            "bound_to": self.bound_to,
            "message": self.message,
            "causes": [cause.to_dict() for cause in self.causes],
            "best": [{"node": node, "total": total, "scores": scores} for node, total, scores in self.best],
            "feasible_nodes": self.feasible,
            "nearest_miss": self.nearest,
            "fixes": [fix.to_dict() for fix in self.fixes],
            "devices": [chain.to_dict() for chain in self.chains],
        }


def answer_pod(
    scheduler: Scheduler,
    pod: Pod,
    *,
    fixes: bool = True,
    source: PodSource | None = None,
    read_queues: ReadQueues | None = None,
) -> PodAnswer:
    """Return what becomes of ``pod``; a bound pod is judged as if it had no node.

    ``fixes`` looks for fixes too; ``source`` is where the pod is written, if the cluster does not say, and
    ``read_queues`` returns Kueue's queues.
    """
    bound_to = pod.node_name
    if pod.scheduler_name not in scheduler.frameworks:
        return _answer_elsewhere(scheduler, pod, bound_to, fixes)
    try:
        explanation = scheduler.explain(pod, preemption=not bound_to, as_scheduled=True)
    except CycleError as error:
        sentence = f"{pod.key} cannot be judged: {error}"
        return PodAnswer(pod.key, PodState.FAILED, sentence, pod.scheduler_name, bound_to=bound_to, message=str(error))
    snapshot = scheduler.snapshot if not bound_to else scheduler.snapshot.without_pod(pod.key)[0]
    causes = tuple(count_causes(snapshot, pod, explanation))
    state = _find_state(explanation, bound_to)
    looks_for_fixes = fixes and state in (PodState.STUCK, PodState.GATED)
    return PodAnswer(
        pod=pod.key,
        state=state,
        sentence=_describe_state(pod, explanation, state, causes),
        scheduler=pod.scheduler_name,
        node=explanation.node if state is not PodState.GATED else "",
        bound_to=bound_to,
        message=explanation.condition or explanation.pre_enqueue.message,
        causes=causes,
        best=tuple(_list_best(explanation)),
        feasible=len(explanation.feasible),
        nearest=describe_nearest(snapshot, pod, explanation),
        fixes=tuple(find_fixes(scheduler, pod, explanation, source=source, read_queues=read_queues))
        if looks_for_fixes
        else (),
        chains=tuple(find_device_chains(snapshot, pod)) if looks_for_fixes else (),
    )


def _answer_elsewhere(scheduler: Scheduler, pod: Pod, bound_to: str, fixes: bool) -> PodAnswer:
    names = ", ".join(scheduler.frameworks)
    place = f"runs on {bound_to}; it" if bound_to else "waits, and"
    sentence = f"{pod.key} {place} is handled by the scheduler {pod.scheduler_name}, not by {names}"
    offered = tuple(find_fixes(scheduler, pod)) if fixes and not bound_to else ()
    return PodAnswer(pod.key, PodState.ELSEWHERE, sentence, pod.scheduler_name, bound_to=bound_to, fixes=offered)


def _find_state(explanation: Explanation, bound_to: str) -> PodState:
    if bound_to:
        return PodState.BOUND
    if not explanation.pre_enqueue.ok:
        return PodState.GATED
    return PodState.STUCK if explanation.chosen is None else PodState.FITS


def _describe_state(pod: Pod, explanation: Explanation, state: PodState, causes: Sequence[Cause]) -> str:
    count = len(explanation.nodes)
    if state is PodState.GATED:
        return f"{pod.key} is held back: {explanation.pre_enqueue.message}"
    if explanation.chosen is not None:
        place = f"{explanation.node}, the best of {len(explanation.feasible):,} of {count:,} nodes that fit"
        if state is PodState.BOUND:
            return f"{pod.key} runs on {pod.node_name}; decided now it would go to {place}"
        return f"{pod.key} fits now: {place}"
    start = f"{pod.key} runs on {pod.node_name}; decided now it would fit" if pod.node_name else f"{pod.key} fits"
    if causes:
        largest = causes[0]
        share = "all" if largest.nodes == count > 1 else f"{largest.nodes:,} of {count:,}"
        return f"{start} no node: {share} nodes {largest.phrase}" + (
            f"; {len(causes) - 1} more {'reason' if len(causes) == 2 else 'reasons'} below" if len(causes) > 1 else ""
        )
    return f"{start} no node: {explanation.message or 'the cluster has no nodes'}"


def _list_best(explanation: Explanation) -> Iterator[tuple[str, int, dict[str, int]]]:
    for place in np.argsort(-explanation.total, kind="stable")[:BEST].tolist():
        scores = {column.plugin: int(column.weighted[place]) for column in explanation.scores}
        yield explanation.nodes[int(explanation.feasible[place])], int(explanation.total[place]), scores


def count_causes(snapshot: Snapshot, pod: Pod, explanation: Explanation) -> list[Cause]:
    """Return the reasons of the decisive verdicts with their numbers of nodes, the most frequent first."""
    if explanation.pre_filter is not None:
        status = explanation.pre_filter
        return [Cause(status.plugin, status.message, f"are out: {status.message}", len(explanation.nodes))]
    counts: Counter[tuple[str, str, str]] = Counter()
    for by in np.unique(explanation.rejected_by).tolist():
        rows = np.flatnonzero(explanation.rejected_by == by)
        if by == EXCLUDED:
            absent = explanation.absent
            listed = ", ".join((explanation.pre_filter_nodes or [])[:BEST])
            text = f"are excluded: it may only run on {listed}" if listed else "are excluded by its affinity"
            counts[absent.plugin if absent else "", absent.message if absent else "", text] += len(rows)
        elif by != FEASIBLE:
            column = explanation.filters[by]
            for code in np.unique(column.codes[rows]).tolist():
                members = rows[column.codes[rows] == code]
                status = column.verdicts[int(code)].with_plugin(column.plugin)
                for reason, text, number in _describe_status(snapshot, pod, status, members):
                    counts[column.plugin, reason, text] += number
    return [Cause(plugin, reason, text, number) for (plugin, reason, text), number in counts.most_common()]


def _describe_status(
    snapshot: Snapshot, pod: Pod, status: Status, members: Sequence[int]
) -> Iterable[tuple[str, str, int]]:
    """Yield (reason, plain words, number of nodes) of one verdict."""
    if status.plugin == "TaintToleration":
        counts: Counter[str] = Counter()
        for node in members:
            taints = find_untolerated(snapshot.nodes[int(node)].taints, pod.tolerations)
            counts[", ".join(map(str, taints))] += 1
        for taint_text, number in counts.items():
            yield status.message, f"have the taint {taint_text}", number
        return
    for reason, fact in status.detailed_reasons:
        text = PHRASES.get(status.plugin, f"are out: {reason}")
        if status.plugin == "NodeResourcesFit" and fact:
            text = _describe_shortage(pod, str(fact))
        elif status.plugin == "InterPodAffinity":
            text = AFFINITY_PHRASES.get(fact, text)
        elif status.plugin == "NodeAffinity" and fact == POD_AFFINITY_FACT:
            text = f"do not match {_describe_selection(pod)}"
        yield reason, text, len(members)


def _describe_selection(pod: Pod) -> str:
    """Return the pod's node selector and required node affinity in the form of kubectl's selectors."""
    required_terms = pod.node_affinity.required or ()
    parts = [f"{key}={value}" for key, value in (pod.node_selector or {}).items()]
    selector = f"its node selector {','.join(parts)}" if parts else ""
    terms = [",".join(map(_describe_condition, (*term.labels, *term.fields))) for term in required_terms]
    affinity = f"its node affinity {' or '.join(term or 'nothing' for term in terms)}" if terms else ""
    return " and ".join(filter(None, (selector, affinity))) or "its node affinity"


def _describe_condition(condition: Requirement) -> str:
    """Return a condition in the form of kubectl's selectors."""
    key, operator, values = condition.key, condition.operator, condition.values
    if operator in ("In", "NotIn"):
        sign = "" if operator == "In" else "!"
        return f"{key}{sign}={values[0]}" if len(values) == 1 else f"{key} {operator.lower()} ({','.join(values)})"
    if operator == "Exists":
        return key
    return f"!{key}" if operator == "DoesNotExist" else f"{key}{'>' if operator == 'Gt' else '<'}{''.join(values)}"


def _describe_shortage(pod: Pod, resource: str) -> str:
    if resource == PODS:
        return "have no room for another pod"
    return f"have less than {format_resource(pod.requests.get(resource, 0), resource)} free"


def describe_nearest(snapshot: Snapshot, pod: Pod, explanation: Explanation) -> str:
    """Return what keeps the pod off the node that comes nearest to taking it; "" if there is none."""
    if explanation.chosen is not None:
        return ""
    node, statuses = next(iterate_candidates(snapshot, pod, explanation), (-1, []))
    if node < 0:
        return ""
    texts = []
    for status in statuses:
        shortages = [item for item in find_resource_shortages(snapshot, pod, node) if item.resource in status.facts]
        if status.plugin == "NodeResourcesFit" and shortages:
            texts += [f"lacks {item}" for item in shortages]
        else:
            texts += [text for _, text, _ in _describe_status(snapshot, pod, status, [node])]
    singular = [to_singular(text) for text in texts]
    return f"{snapshot.names[node]} {' and '.join(dict.fromkeys(singular))}"


def to_singular(text: str) -> str:
    """Return a phrase of several nodes as one of a single node."""
    verb, space, tail = text.partition(" ")
    return f"{SINGULAR.get(verb, verb)}{space}{tail}"
