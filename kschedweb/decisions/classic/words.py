"""Plain readings of the reasons that predicates give, in the form of today's filters (``decisions.words``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.decisions.presenters import get_presenter
from kschedweb.decisions.words import RejectionReason, VerdictReading, join_with_and, resource_suffix
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, is_tolerated
from kschedweb.engine.plugins import interpodaffinity, nodeaffinity, nodename, nodeports, nodeunschedulable
from kschedweb.engine.plugins.noderesourcesfit import PODS
from kschedweb.engine.releases.classic import reasons as then
from kschedweb.engine.releases.classic.objects import BASIC, get_requests, list_sources
from kschedweb.engine.studies.fixes.shortages import ResourceShortage
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.decisions.case import ClassicCase
    from kschedweb.engine import Status

# Short names of predicates' errors -> the reasons that they stand for.
LONG = {short: long for long, short in then.NAMES.items()}
# Reasons that mean the same as a reason of one of today's filters, whose presenter can read them.
AS_TODAY = {
    then.SELECTOR: nodeaffinity.POD.with_plugin("NodeAffinity"),
    then.HOST_NAME: nodename.REJECTED.with_plugin("NodeName"),
    then.HOST_PORTS: nodeports.REJECTED.with_plugin("NodePorts"),
    then.UNSCHEDULABLE: nodeunschedulable.REJECTED.with_plugin("NodeUnschedulable"),
    then.EXISTING_RULES: interpodaffinity.EXISTING.with_plugin("InterPodAffinity"),
    then.AFFINITY_RULES: interpodaffinity.AFFINITY.with_plugin("InterPodAffinity"),
    then.ANTI_AFFINITY_RULES: interpodaffinity.ANTI_AFFINITY.with_plugin("InterPodAffinity"),
}
# Sentences for a pod that one reason keeps from every node, for reasons that today's filters do not have.
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
# Reasons that stand for a condition of the node: its type, and a sentence.
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


def find_shortages(case: ClassicCase, node: int) -> list[ResourceShortage]:
    """The resources that a node lacks, or that are overcommitted there, worst first."""
    snapshot, pod_resources = case.snapshot, get_requests(case.pod)
    if pod_resources.is_empty:
        return []
    shortages = []
    for name in dict.fromkeys((*BASIC, *pod_resources.requests)):
        has = int(snapshot.resource_row(snapshot.allocatable, name)[node])
        free = has - int(snapshot.resource_row(snapshot.requested, name)[node])
        if pod_resources.requests.get(name, 0) > free:
            shortages.append(ResourceShortage(name, pod_resources.requests.get(name, 0), free, has))
    return sorted(shortages, key=lambda item: -item.missing / max(item.requested, 1))


def in_short(case: ClassicCase, reason: RejectionReason) -> str:
    """The words for ``reason`` after a count of nodes."""
    text = LONG.get(reason.text, reason.text)
    if text in GENERAL:
        return str(GENERAL[text])
    if text in AS_TODAY:
        today = AS_TODAY[text]
        return get_presenter(today.plugin).in_short(case.pod, text, *today.facts)
    if reason.fact not in (None, PODS) and not get_requests(case.pod).requests.get(reason.fact):
        return gettext("has more %(resource)s requested than it has") % {"resource": reason.fact}
    return get_presenter("NodeResourcesFit").in_short(case.pod, text, reason.fact)


def explain_status(case: ClassicCase, node: int, status: Status) -> VerdictReading:
    """The plain reading of ``status``, the verdict of a predicate on a node."""
    readings, name = [], case.snapshot.names[node]
    if any(fact is not None for fact in status.facts):
        readings.append(_explain_shortages(case, node, status))
    for reason in (LONG.get(reason, reason) for reason in status.reasons):
        if reason in AS_TODAY:
            today = AS_TODAY[reason]
            readings.append(get_presenter(today.plugin).reading(case.snapshot, case.pod, node, today))
        elif reason in CONDITIONS:
            condition, template = CONDITIONS[reason]
            remedy = gettext("its condition %(condition)s must change") % {"condition": condition}
            readings.append(VerdictReading(gettext(template) % {"node": name}, remedy))
        elif reason in REASON_EXPLAINERS:
            readings.append(REASON_EXPLAINERS[reason](case, node, status.plugin))
    if not readings:
        return VerdictReading(f"{name}: {status.message or status.code}")
    remedies = dict.fromkeys(reading.remedy for reading in readings if reading.remedy)
    return VerdictReading(
        gettext("; ").join(dict.fromkeys(reading.text for reading in readings)), gettext("; ").join(remedies)
    )


def _explain_shortages(case: ClassicCase, node: int, status: Status) -> VerdictReading:
    name, texts, remedies = case.snapshot.names[node], [], []
    if PODS in status.facts:
        count, limit = case.snapshot.pod_count[node], case.snapshot.pod_limit[node]
        parameters = {"node": name, "count": str(count), "most": str(limit)}
        texts.append(gettext("%(node)s runs %(count)s of at most %(most)s pods") % parameters)
        remedies.append(gettext("remove a pod from it"))
    for short in find_shortages(case, node):
        if short.resource not in status.facts:
            continue
        unit = resource_suffix(short.resource)
        needs, free, has = (
            format_amount(max(value, 0), short.resource) for value in (short.requested, short.free, short.allocatable)
        )
        parameters = {"node": name, "short": str(short), "has": f"{has}{unit}", "needs": f"{needs}{unit}"}
        parameters |= {"free": f"{free}{unit}", "of": has, "resource": short.resource}
        if not short.requested:
            template = gettext(
                "pods on %(node)s request %(short)s more than its %(has)s, so it rejects even pods that request none"
            )
        else:
            template = gettext("the pod needs %(needs)s, and %(node)s has %(free)s free of %(of)s: %(short)s short")
        texts.append(template % parameters)
        if short.requested > short.allocatable:
            template = gettext("even empty, this node is too small: request less %(resource)s or add larger nodes")
        else:
            template = gettext("free %(short)s there")
        remedies.append(template % parameters)
    return VerdictReading(gettext("; ").join(texts) or status.message, gettext("; ").join(dict.fromkeys(remedies)))


def _explain_taints(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    effects = (NO_EXECUTE,) if "NoExecute" in predicate else (NO_SCHEDULE, NO_EXECUTE)
    missing = [
        taint
        for taint in case.snapshot.nodes[node].taints
        if taint.effect in effects and not is_tolerated(taint, case.pod.tolerations)
    ]
    template = ngettext(
        "%(node)s is tainted %(taints)s, and the pod does not tolerate it",
        "%(node)s is tainted %(taints)s, and the pod does not tolerate them",
        len(missing),
    )
    remedy = gettext("add a toleration for %(keys)s to the pod, or remove the taint")
    return VerdictReading(
        template % {"node": case.snapshot.names[node], "taints": join_with_and([str(taint) for taint in missing])},
        remedy % {"keys": join_with_and([taint.key for taint in missing])},
    )


def _explain_labels(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    asks = _find_predicate(case, predicate)
    has = case.snapshot.nodes[node].labels
    wrong = join_with_and([label for label in asks.labels if (label in has) != asks.presence])
    parameters = {"node": case.snapshot.names[node], "labels": wrong}
    if asks.presence:
        template = gettext("%(node)s lacks the label %(labels)s, which the policy asks for")
        return VerdictReading(template % parameters, gettext("label the node"))
    return VerdictReading(
        gettext("%(node)s has the label %(labels)s, which the policy rules out") % parameters,
        gettext("remove the label"),
    )


def _explain_service(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    asks, has = _find_predicate(case, predicate), case.snapshot.nodes[node].labels
    label_texts = join_with_and(
        [
            f"{label}={has[label]}" if label in has else gettext("no %(label)s") % {"label": label}
            for label in asks.labels
        ]
    )
    template = gettext(
        "%(node)s has %(labels)s, which differs from the pod's nodeSelector or from the node of another pod of its "
        "service"
    )
    return VerdictReading(
        template % {"node": case.snapshot.names[node], "labels": label_texts}, gettext("give the node the same labels")
    )


def _explain_disk(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    template = gettext("another pod on %(node)s mounts the same disk, and one of them writes")
    return VerdictReading(template % {"node": case.snapshot.names[node]}, gettext("move that pod away"))


def _explain_zone(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    labels = case.snapshot.nodes[node].labels
    zones = join_with_and([labels[key] for key in (BETA_ZONE, BETA_REGION) if key in labels])
    template = gettext("%(node)s is in %(zone)s, and a volume of %(claims)s is not")
    return VerdictReading(template % {"node": case.snapshot.names[node], "zone": zones, "claims": _list_claims(case)})


def _explain_volume_count(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    template = gettext("with the pod, %(node)s would have more volumes attached than it allows (%(predicate)s)")
    return VerdictReading(
        template % {"node": case.snapshot.names[node], "predicate": predicate},
        gettext("remove a pod with such volumes from it"),
    )


def _explain_volume_affinity(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    template = gettext("%(node)s cannot reach a volume of %(claims)s")
    return VerdictReading(template % {"node": case.snapshot.names[node], "claims": _list_claims(case)})


def _explain_no_volumes(case: ClassicCase, node: int, predicate: str) -> VerdictReading:
    template = gettext("no volume for %(claims)s can be used from %(node)s")
    return VerdictReading(
        template % {"node": case.snapshot.names[node], "claims": _list_claims(case)}, gettext("create a volume there")
    )


def _list_claims(case: ClassicCase) -> str:
    names = [name for kind, name in list_sources(case.pod) if kind == "claim"]
    return ngettext("claim %(names)s", "claims %(names)s", len(names)) % {"names": join_with_and(names)}


def _find_predicate(case: ClassicCase, predicate: str) -> Any:
    return next(candidate for candidate in case.scheduler.algorithm.predicates if candidate.name == predicate)


REASON_EXPLAINERS: dict[str, Callable[[ClassicCase, int, str], VerdictReading]] = {
    then.TAINTS: _explain_taints,
    then.LABEL_PRESENCE: _explain_labels,
    then.SERVICE_AFFINITY: _explain_service,
    then.DISK_CONFLICT: _explain_disk,
    then.ZONE_CONFLICT: _explain_zone,
    then.VOLUME_COUNT: _explain_volume_count,
    then.VOLUME_AFFINITY: _explain_volume_affinity,
    then.NO_VOLUMES: _explain_no_volumes,
}
