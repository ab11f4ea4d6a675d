"""Plain readings of the reasons that predicates give, in the form of those of today's filters (``decisions.words``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.decisions.presenters import presenter
from kschedweb.decisions.words import Reading, RejectionReason, Shortage, listed, of
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedweb.engine.plugins import interpodaffinity, nodeaffinity, nodename, nodeports, nodeunschedulable
from kschedweb.engine.plugins.noderesourcesfit import PODS
from kschedweb.engine.releases.classic import words as then
from kschedweb.engine.releases.classic.objects import BASIC, asked, sources
from kschedweb.web.translating import gettext_lazy as _
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
    then.DISK_CONFLICT: _("has a disk of the pod in use by another pod"),
    then.ZONE_CONFLICT: _("is in another zone than a volume of the pod"),
    then.SELECTOR: _("does not match the pod's node selector or affinity"),
    then.POD_AFFINITY: _("does not satisfy a required term between pods"),
    then.TAINTS: _("has taints the pod does not tolerate"),
    then.HOST_NAME: _("is not the one the pod names"),
    then.HOST_PORTS: _("has the host port taken"),
    then.LABEL_PRESENCE: _("does not have the labels the policy asks for"),
    then.SERVICE_AFFINITY: _("has other labels than the node of the pod's service"),
    then.VOLUME_COUNT: _("would have more volumes than it allows"),
    then.MEMORY_PRESSURE: _("is short of memory"),
    then.DISK_PRESSURE: _("is short of disk space"),
    then.PID_PRESSURE: _("is short of process ids"),
    then.OUT_OF_DISK: _("is out of disk space"),
    then.NOT_READY: _("is not ready"),
    then.NO_NETWORK: _("has no network"),
    then.UNSCHEDULABLE: _("is cordoned"),
    then.VOLUME_AFFINITY: _("cannot reach a volume of the pod"),
    then.NO_VOLUMES: _("has no volume for a claim of the pod"),
}
CONDITIONS = {
    then.NOT_READY: ("Ready", gettext_noop("%(node)s does not report that it is ready")),
    then.OUT_OF_DISK: ("OutOfDisk", gettext_noop("%(node)s reports that it is out of disk space")),
    then.NO_NETWORK: ("NetworkUnavailable", gettext_noop("%(node)s reports that its network is not set up")),
    then.MEMORY_PRESSURE: (
        "MemoryPressure",
        gettext_noop("%(node)s is short of memory, and the pod asks for none and has no limit"),
    ),
    then.DISK_PRESSURE: ("DiskPressure", gettext_noop("%(node)s is short of disk space")),
    then.PID_PRESSURE: ("PIDPressure", gettext_noop("%(node)s is short of process ids")),
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
        return str(GENERAL[text])
    if text in AS_TODAY:
        today = AS_TODAY[text]
        return presenter(today.plugin).in_short(case.pod, text, *today.about)
    if reason.about not in (None, PODS) and not asked(case.pod).requests.get(reason.about):
        return gettext("has more %(resource)s requested than it has") % {"resource": reason.about}
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
            remedy = gettext("its condition %(condition)s must change") % {"condition": condition}
            found.append(Reading(gettext(said) % {"node": name}, remedy))
        elif reason in OWN:
            found.append(OWN[reason](case, node, status.plugin))
    if not found:
        return Reading(f"{name}: {status.message or status.code}")
    remedies = dict.fromkeys(one.remedy for one in found if one.remedy)
    return Reading(gettext("; ").join(dict.fromkeys(one.text for one in found)), gettext("; ").join(remedies))


def _room(case: ClassicCase, node: int, status: Status) -> Reading:
    name, texts, remedies = case.snapshot.names[node], [], []
    if PODS in status.about:
        count, most = case.snapshot.pod_count[node], case.snapshot.pod_limit[node]
        told = {"node": name, "count": str(count), "most": str(most)}
        texts.append(gettext("%(node)s runs %(count)s of at most %(most)s pods") % told)
        remedies.append(gettext("remove a pod from it"))
    for short in shortages(case, node):
        if short.resource not in status.about:
            continue
        what = of(short.resource)
        needs, free, has = (amount(max(one, 0), short.resource) for one in (short.asked, short.free, short.allocatable))
        told = {"node": name, "short": str(short), "has": f"{has}{what}", "needs": f"{needs}{what}"}
        told |= {"free": f"{free}{what}", "of": has, "resource": short.resource}
        if not short.asked:
            said = gettext(
                "pods on %(node)s request %(short)s more than its %(has)s, so it rejects even pods that request none"
            )
        else:
            said = gettext("the pod needs %(needs)s, and %(node)s has %(free)s free of %(of)s: %(short)s short")
        texts.append(said % told)
        if short.asked > short.allocatable:
            said = gettext("even empty, this node is too small: request less %(resource)s or add larger nodes")
        else:
            said = gettext("free %(short)s there")
        remedies.append(said % told)
    return Reading(gettext("; ").join(texts) or status.message, gettext("; ").join(dict.fromkeys(remedies)))


def _taints(case: ClassicCase, node: int, predicate: str) -> Reading:
    effects = (NO_EXECUTE,) if "NoExecute" in predicate else (NO_SCHEDULE, NO_EXECUTE)
    missing = [
        taint
        for taint in case.snapshot.nodes[node].taints
        if taint.effect in effects and not tolerated(taint, case.pod.tolerations)
    ]
    said = ngettext(
        "%(node)s is tainted %(taints)s, and the pod does not tolerate it",
        "%(node)s is tainted %(taints)s, and the pod does not tolerate them",
        len(missing),
    )
    remedy = gettext("add a toleration for %(keys)s to the pod, or remove the taint")
    return Reading(
        said % {"node": case.snapshot.names[node], "taints": listed([str(taint) for taint in missing])},
        remedy % {"keys": listed([taint.key for taint in missing])},
    )


def _labels(case: ClassicCase, node: int, predicate: str) -> Reading:
    asks = _named(case, predicate)
    has = case.snapshot.nodes[node].labels
    wrong = listed([label for label in asks.labels if (label in has) != asks.presence])
    told = {"node": case.snapshot.names[node], "labels": wrong}
    if asks.presence:
        said = gettext("%(node)s lacks the label %(labels)s, which the policy asks for")
        return Reading(said % told, gettext("label the node"))
    return Reading(
        gettext("%(node)s has the label %(labels)s, which the policy rules out") % told, gettext("remove the label")
    )


def _service(case: ClassicCase, node: int, predicate: str) -> Reading:
    asks, has = _named(case, predicate), case.snapshot.nodes[node].labels
    shown = listed(
        [
            f"{label}={has[label]}" if label in has else gettext("no %(label)s") % {"label": label}
            for label in asks.labels
        ]
    )
    said = gettext(
        "%(node)s has %(labels)s, which differs from the pod's nodeSelector or from the node of another pod of its "
        "service"
    )
    return Reading(
        said % {"node": case.snapshot.names[node], "labels": shown}, gettext("give the node the same labels")
    )


def _disk(case: ClassicCase, node: int, predicate: str) -> Reading:
    said = gettext("another pod on %(node)s mounts the same disk, and one of them writes")
    return Reading(said % {"node": case.snapshot.names[node]}, gettext("move that pod away"))


def _zone(case: ClassicCase, node: int, predicate: str) -> Reading:
    labels = case.snapshot.nodes[node].labels
    where = listed([labels[key] for key in (BETA_ZONE, BETA_REGION) if key in labels])
    said = gettext("%(node)s is in %(zone)s, and a volume of %(claims)s is not")
    return Reading(said % {"node": case.snapshot.names[node], "zone": where, "claims": _claims(case)})


def _count(case: ClassicCase, node: int, predicate: str) -> Reading:
    said = gettext("with the pod, %(node)s would have more volumes attached than it allows (%(predicate)s)")
    return Reading(
        said % {"node": case.snapshot.names[node], "predicate": predicate},
        gettext("remove a pod with such volumes from it"),
    )


def _affinity(case: ClassicCase, node: int, predicate: str) -> Reading:
    said = gettext("%(node)s cannot reach a volume of %(claims)s")
    return Reading(said % {"node": case.snapshot.names[node], "claims": _claims(case)})


def _unfound(case: ClassicCase, node: int, predicate: str) -> Reading:
    said = gettext("no volume for %(claims)s can be used from %(node)s")
    return Reading(
        said % {"node": case.snapshot.names[node], "claims": _claims(case)}, gettext("create a volume there")
    )


def _claims(case: ClassicCase) -> str:
    names = [name for kind, name in sources(case.pod) if kind == "claim"]
    return ngettext("claim %(names)s", "claims %(names)s", len(names)) % {"names": listed(names)}


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
