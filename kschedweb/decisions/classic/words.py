"""Plain readings of the reasons that predicates give, in the form of those of today's filters (``decisions.words``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.presenters import presenter
from kschedweb.decisions.words import Reading, RejectionReason, Shortage, listed, of
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedweb.engine.plugins import interpodaffinity, nodeaffinity, nodename, nodeports, nodeunschedulable
from kschedweb.engine.plugins.noderesourcesfit import PODS
from kschedweb.engine.releases.classic import words as then
from kschedweb.engine.releases.classic.objects import BASIC, asked, sources
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.decisions.case import ClassicCase
    from kschedweb.engine import Status

LONG = {short: long for long, short in then.NAMES.items()}
# Reasons that mean the same as one of today's filters, whose presenter can read them.
AS_TODAY = {
    then.SELECTOR: nodeaffinity.POD.by("NodeAffinity"),
    then.HOST_NAME: nodename.REJECTED.by("NodeName"),
    then.HOST_PORTS: nodeports.REJECTED.by("NodePorts"),
    then.UNSCHEDULABLE: nodeunschedulable.REJECTED.by("NodeUnschedulable"),
    then.EXISTING_RULES: interpodaffinity.EXISTING.by("InterPodAffinity"),
    then.AFFINITY_RULES: interpodaffinity.AFFINITY.by("InterPodAffinity"),
    then.ANTI_AFFINITY_RULES: interpodaffinity.ANTI_AFFINITY.by("InterPodAffinity"),
}
# Sentences for a pod that one reason keeps from every node, for reasons that are not today's.
GENERAL = {
    then.DISK_CONFLICT: "has a disk of the pod in use by another pod",
    then.ZONE_CONFLICT: "is in another zone than a volume of the pod",
    then.SELECTOR: "does not match the pod's node selector or affinity",
    then.POD_AFFINITY: "does not satisfy a required term between pods",
    then.TAINTS: "has taints the pod does not tolerate",
    then.HOST_NAME: "is not the one the pod names",
    then.HOST_PORTS: "has the host port taken",
    then.LABEL_PRESENCE: "does not have the labels the policy asks for",
    then.SERVICE_AFFINITY: "has other labels than the node of the pod's service",
    then.VOLUME_COUNT: "would have more volumes than it allows",
    then.MEMORY_PRESSURE: "is short of memory",
    then.DISK_PRESSURE: "is short of disk space",
    then.PID_PRESSURE: "is short of process ids",
    then.OUT_OF_DISK: "is out of disk space",
    then.NOT_READY: "is not ready",
    then.NO_NETWORK: "has no network",
    then.UNSCHEDULABLE: "is cordoned",
    then.VOLUME_AFFINITY: "cannot reach a volume of the pod",
    then.NO_VOLUMES: "has no volume for a claim of the pod",
}
CONDITIONS = {
    then.NOT_READY: ("Ready", "does not report that it is ready"),
    then.OUT_OF_DISK: ("OutOfDisk", "reports that it is out of disk space"),
    then.NO_NETWORK: ("NetworkUnavailable", "reports that its network is not set up"),
    then.MEMORY_PRESSURE: ("MemoryPressure", "is short of memory, and the pod asks for none and has no limit"),
    then.DISK_PRESSURE: ("DiskPressure", "is short of disk space"),
    then.PID_PRESSURE: ("PIDPressure", "is short of process ids"),
}


def shortages(case: ClassicCase, node: int) -> list[Shortage]:
    """The resources that a node lacks, or that are overcommitted there, worst first."""
    snapshot, wanted = case.snapshot, asked(case.pod)
    if wanted.nothing:
        return []
    found = []
    for name in dict.fromkeys((*BASIC, *wanted.requests)):
        has = int(snapshot.amounts(snapshot.allocatable, name)[node])
        free = has - int(snapshot.amounts(snapshot.requested, name)[node])
        if wanted.requests.get(name, 0) > free:
            found.append(Shortage(name, wanted.requests.get(name, 0), free, has))
    return sorted(found, key=lambda item: -item.missing / max(item.asked, 1))


def in_short(case: ClassicCase, reason: RejectionReason) -> str:
    """The words for ``reason`` after a count of nodes."""
    text = LONG.get(reason.text, reason.text)
    if text in GENERAL:
        return GENERAL[text]
    if text in AS_TODAY:
        today = AS_TODAY[text]
        return presenter(today.plugin).in_short(case.pod, text, *today.about)
    if reason.about not in (None, PODS) and not asked(case.pod).requests.get(reason.about):
        return f"has more {reason.about} requested than it has"
    return presenter("NodeResourcesFit").in_short(case.pod, text, reason.about)


def reading(case: ClassicCase, node: int, status: Status) -> Reading:
    """The plain reading of ``status``, the verdict of a predicate on a node."""
    found, name = [], case.snapshot.names[node]
    if any(about is not None for about in status.about):
        found.append(_room(case, node, status))
    for reason in (LONG.get(reason, reason) for reason in status.reasons):
        if reason in AS_TODAY:
            today = AS_TODAY[reason]
            found.append(presenter(today.plugin).reading(case.snapshot, case.pod, node, today))
        elif reason in CONDITIONS:
            condition, said = CONDITIONS[reason]
            found.append(Reading(f"{name} {said}", f"its condition {condition} must change"))
        elif reason in OWN:
            found.append(OWN[reason](case, node, status.plugin))
    if not found:
        return Reading(f"{name}: {status.message or status.code}")
    remedies = dict.fromkeys(one.remedy for one in found if one.remedy)
    return Reading("; ".join(dict.fromkeys(one.text for one in found)), "; ".join(remedies))


def _room(case: ClassicCase, node: int, status: Status) -> Reading:
    name, texts, remedies = case.snapshot.names[node], [], []
    if PODS in status.about:
        count, most = case.snapshot.pod_count[node], case.snapshot.pod_limit[node]
        texts.append(f"{name} runs {count} of at most {most} pods")
        remedies.append("remove a pod from it")
    for short in shortages(case, node):
        if short.resource not in status.about:
            continue
        what, has = of(short.resource), amount(short.allocatable, short.resource)
        if not short.asked:
            texts.append(
                f"pods on {name} request {short} more than its {has}{what}, so it rejects even pods that request none"
            )
        else:
            needs, free = (amount(max(one, 0), short.resource) for one in (short.asked, short.free))
            texts.append(f"the pod needs {needs}{what}, and {name} has {free}{what} free of {has}: {short} short")
        too_small = short.asked > short.allocatable
        remedies.append(
            f"even empty, this node is too small: request less {short.resource} or add larger nodes"
            if too_small
            else f"free {short} there"
        )
    return Reading("; ".join(texts) or status.message, "; ".join(dict.fromkeys(remedies)))


def _taints(case: ClassicCase, node: int, predicate: str) -> Reading:
    effects = (NO_EXECUTE,) if "NoExecute" in predicate else (NO_SCHEDULE, NO_EXECUTE)
    missing = [
        taint
        for taint in case.snapshot.nodes[node].taints
        if taint.effect in effects and not tolerated(taint, case.pod.tolerations)
    ]
    return Reading(
        f"{case.snapshot.names[node]} is tainted {listed([str(taint) for taint in missing])}, and the pod does not "
        f"tolerate {'it' if len(missing) == 1 else 'them'}",
        f"add a toleration for {listed([taint.key for taint in missing])} to the pod, or remove the taint",
    )


def _labels(case: ClassicCase, node: int, predicate: str) -> Reading:
    asks, name = _named(case, predicate), case.snapshot.names[node]
    has = case.snapshot.nodes[node].labels
    wrong = listed([label for label in asks.labels if (label in has) != asks.presence])
    if asks.presence:
        return Reading(f"{name} lacks the label {wrong}, which the policy asks for", "label the node")
    return Reading(f"{name} has the label {wrong}, which the policy rules out", "remove the label")


def _service(case: ClassicCase, node: int, predicate: str) -> Reading:
    asks, has = _named(case, predicate), case.snapshot.nodes[node].labels
    shown = listed([f"{label}={has[label]}" if label in has else f"no {label}" for label in asks.labels])
    return Reading(
        f"{case.snapshot.names[node]} has {shown}, which differs from the pod's nodeSelector or from the node of "
        "another pod of its service",
        "give the node the same labels",
    )


def _disk(case: ClassicCase, node: int, predicate: str) -> Reading:
    return Reading(
        f"another pod on {case.snapshot.names[node]} mounts the same disk, and one of them writes",
        "move that pod away",
    )


def _zone(case: ClassicCase, node: int, predicate: str) -> Reading:
    labels = case.snapshot.nodes[node].labels
    where = listed([labels[key] for key in (BETA_ZONE, BETA_REGION) if key in labels])
    return Reading(f"{case.snapshot.names[node]} is in {where}, and a volume of {_claims(case)} is not")


def _count(case: ClassicCase, node: int, predicate: str) -> Reading:
    return Reading(
        f"with the pod, {case.snapshot.names[node]} would have more volumes attached than it allows ({predicate})",
        "remove a pod with such volumes from it",
    )


def _affinity(case: ClassicCase, node: int, predicate: str) -> Reading:
    return Reading(f"{case.snapshot.names[node]} cannot reach a volume of {_claims(case)}")


def _unfound(case: ClassicCase, node: int, predicate: str) -> Reading:
    return Reading(
        f"no volume for {_claims(case)} can be used from {case.snapshot.names[node]}", "create a volume there"
    )


def _claims(case: ClassicCase) -> str:
    names = [name for kind, name in sources(case.pod) if kind == "claim"]
    return f"claim{'' if len(names) == 1 else 's'} {listed(names)}"


def _named(case: ClassicCase, predicate: str) -> Any:
    return next(one for one in case.scheduler.algorithm.predicates if one.name == predicate)


OWN: dict[str, Callable[[ClassicCase, int, str], Reading]] = {
    then.TAINTS: _taints,
    then.LABEL_PRESENCE: _labels,
    then.SERVICE_AFFINITY: _service,
    then.DISK_CONFLICT: _disk,
    then.ZONE_CONFLICT: _zone,
    then.VOLUME_COUNT: _count,
    then.VOLUME_AFFINITY: _affinity,
    then.NO_VOLUMES: _unfound,
}
