"""Answers about queued workloads in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.decisions.words import join_with_and
from kschedweb.engine.queueing.cycle.assignment import PreemptionMode
from kschedweb.engine.queueing.explaining.explanation import WaitVerdict
from kschedweb.engine.queueing.explaining.flavor_nodes import NodeExclusion
from kschedweb.engine.queueing.explaining.forecast import ForecastEnd, RunTimeSource
from kschedweb.engine.queueing.explaining.quota_chains import BORROWING_LIMIT
from kschedweb.engine.queueing.explaining.remedies import RemedyKind
from kschedweb.engine.queueing.preemption.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
)
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict
from kschedweb.engine.queueing.quota.amounts import UNLIMITED, FlavorResource
from kschedweb.web.counting import format_count
from kschedweb.web.durations import format_duration, format_range
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.engine.queueing.cycle.assignment import FlavorAttempt, QuotaCheck
    from kschedweb.engine.queueing.explaining.evictions import EvictionCandidate, EvictionSearch
    from kschedweb.engine.queueing.explaining.explanation import WorkloadExplanation
    from kschedweb.engine.queueing.explaining.flavor_nodes import FlavorNodes
    from kschedweb.engine.queueing.explaining.forecast import Forecast, ForecastPlay, RunTimeRange
    from kschedweb.engine.queueing.explaining.next_cycle import CycleNeighbour
    from kschedweb.engine.queueing.explaining.quota_chains import QuotaChain
    from kschedweb.engine.queueing.explaining.remedies import QuotaChange, Remedy
    from kschedweb.engine.queueing.preemption.preemption_loops import PreemptionLoop
    from kschedweb.engine.queueing.quota.amounts import Requests

# A colour, an icon and a word for each verdict.
_WAITS = ("amber", "clock", gettext_noop("waits"))
_STUCK = ("red", "circle-x", gettext_noop("cannot get in"))
_FITS = ("green", "circle-check", gettext_noop("fits"))
_STATES = {
    WaitVerdict.FINISHED: ("", "circle-check", gettext_noop("finished")),
    WaitVerdict.ADMITTED: ("green", "play", gettext_noop("runs")),
    WaitVerdict.NEXT: _FITS,
    WaitVerdict.BEHIND: ("blue", "clock", gettext_noop("fits")),
    WaitVerdict.EXCEEDS_CAPACITY: _STUCK,
    WaitVerdict.NO_FLAVOR: _STUCK,
    WaitVerdict.NOT_QUEUED: _STUCK,
    WaitVerdict.INADMISSIBLE: _STUCK,
}
VERDICTS = tuple(verdict.value for verdict in WaitVerdict)


def describe_verdict(verdict: WaitVerdict) -> dict[str, str]:
    """Return the colour, icon and label of a verdict."""
    color, icon, label = _STATES.get(verdict, _WAITS)
    return {"color": color, "icon": icon, "label": gettext(label)}


def write_amount(amount: int, resource: str) -> str:
    """Return an amount with its unit: "4 CPU", "8Gi memory", "2 nvidia.com/gpu"."""
    if amount == UNLIMITED:
        return gettext("unlimited %(resource)s") % {"resource": resource}
    text = format_amount(amount, resource)
    return text if resource == "cpu" else f"{text} {resource}"


def write_requests(requests: Requests) -> str:
    parts = [write_amount(amount, resource) for resource, amount in requests.items() if amount]
    return join_with_and(parts) if parts else gettext("nothing")


def write_keys(keys: Iterable[FlavorResource]) -> str:
    """Return resources with their flavors: "cpu and memory in spot"."""
    by_flavor: dict[str, list[str]] = {}
    for key in keys:
        by_flavor.setdefault(key.flavor, []).append(key.resource)
    return join_with_and(
        [
            gettext("%(resources)s in %(flavor)s") % {"resources": join_with_and(resources), "flavor": flavor}
            for flavor, resources in by_flavor.items()
        ]
    )


# The answer


def render_title(answer: WorkloadExplanation) -> str:
    """Return the answer in one sentence."""
    names = {
        "name": answer.key.partition("/")[2],
        "queue": answer.cluster_queue,
        "missing": _write_missing(answer),
    }
    verdict = answer.verdict
    if verdict is WaitVerdict.BEHIND:
        template = ngettext(
            "%(name)s fits, and %(number)s workload of its queue comes first",
            "%(name)s fits, and %(number)s workloads of its queue come first",
            len(answer.ahead),
        )
        return template % {**names, "number": f"{len(answer.ahead):,}"}
    if verdict is WaitVerdict.PREEMPTS and answer.evictions is not None:
        count = len(answer.evictions.targets)
        template = ngettext(
            "%(name)s gets its quota once it has evicted %(number)s workload",
            "%(name)s gets its quota once it has evicted %(number)s workloads",
            count,
        )
        return template % {**names, "number": f"{count:,}"}
    return gettext(_TITLES[verdict]) % names


_TITLES = {
    WaitVerdict.FINISHED: gettext_noop("%(name)s has finished"),
    WaitVerdict.EVICTED: gettext_noop("%(name)s is evicted, and keeps its quota until its pods have stopped"),
    WaitVerdict.ADMITTED: gettext_noop("%(name)s has its quota and runs"),
    WaitVerdict.CHECKS: gettext_noop("%(name)s has its quota and waits for admission checks"),
    WaitVerdict.INACTIVE: gettext_noop("%(name)s is deactivated: no queue looks at it"),
    WaitVerdict.GATED: gettext_noop("%(name)s is held back by its own admission gate"),
    WaitVerdict.ON_HOLD: gettext_noop("%(name)s is on hold"),
    WaitVerdict.BACKOFF: gettext_noop("%(name)s is tried again once its back-off is over"),
    WaitVerdict.NOT_QUEUED: gettext_noop("%(name)s is in no queue that admits anything"),
    WaitVerdict.INADMISSIBLE: gettext_noop("%(queue)s refuses %(name)s before it looks at quota"),
    WaitVerdict.NEXT: gettext_noop("%(name)s fits and is next in %(queue)s"),
    WaitVerdict.CROWDED_OUT: gettext_noop("%(name)s fits, but others of its cohort take or keep the room first"),
    WaitVerdict.NO_CANDIDATES: gettext_noop("%(name)s waits for %(missing)s, and may evict nobody for it"),
    WaitVerdict.WAITING_FOR_QUOTA: gettext_noop("%(name)s waits for %(missing)s"),
    WaitVerdict.EXCEEDS_CAPACITY: gettext_noop("%(name)s asks for more than %(queue)s can ever have"),
    WaitVerdict.NO_FLAVOR: gettext_noop("%(name)s suits the nodes of no flavor of %(queue)s"),
    WaitVerdict.NO_PLACE: gettext_noop("%(name)s has quota in reach, and no topology domain with room"),
}


def _write_missing(answer: WorkloadExplanation) -> str:
    """Return what is missing in the flavor that lacks least: "4 CPU and 8Gi memory in spot"."""
    attempt = find_closest_attempt(answer)
    if attempt is None:
        return gettext("quota")
    parts = [write_amount(check.missing, check.key.resource) for check in attempt.checks if check.missing]
    return gettext("%(resources)s in %(flavor)s") % {"resources": join_with_and(parts), "flavor": attempt.flavor}


def find_closest_attempt(answer: WorkloadExplanation) -> FlavorAttempt | None:
    """Return the flavor that it would get, or could get with the fewest resources more; None if it lacks none."""
    if answer.verdict in (WaitVerdict.NEXT, WaitVerdict.BEHIND):
        return None
    attempts = [
        (attempt.flavor not in pod_set.flavors.values(), sum(1 for check in attempt.checks if check.missing), attempt)
        for pod_set in answer.pod_sets
        for attempt in pod_set.attempts
        if any(check.missing for check in attempt.checks)
        and not any(check.exceeds_capacity for check in attempt.checks)
    ]
    return min(attempts, key=lambda item: item[:2])[2] if attempts else None


def render_details(answer: WorkloadExplanation) -> list[str]:
    """Return further sentences: where the limit is, who is ahead, when it gets in."""
    details = []
    if answer.verdict in (WaitVerdict.NOT_QUEUED, WaitVerdict.INADMISSIBLE, WaitVerdict.CHECKS, WaitVerdict.GATED):
        details.append(answer.message or answer.condition)
    attempt = find_closest_attempt(answer)
    if attempt is not None:
        details += [explain_limit(chain) for chain in answer.chains if chain.key.flavor == attempt.flavor]
    if answer.verdict is WaitVerdict.CROWDED_OUT and answer.next_cycle is not None:
        details += [_explain_neighbour(neighbour) for neighbour in answer.next_cycle.before]
    if answer.position is not None and answer.ahead and answer.verdict is not WaitVerdict.BEHIND:
        details.append(_explain_position(answer))
    details += [explain_small_flavor(nodes) for nodes in answer.small_flavors]
    return [detail for detail in details if detail]


def _explain_position(answer: WorkloadExplanation) -> str:
    values = {"queue": answer.cluster_queue, "position": f"{answer.position:,}", "number": f"{len(answer.ahead):,}"}
    if answer.is_strict:
        template = gettext("It is number %(position)s in %(queue)s, whose strict order lets nobody pass the head.")
    else:
        template = gettext("It is number %(position)s in %(queue)s, which tries others while the head waits.")
    return template % values


def _explain_neighbour(neighbour: CycleNeighbour) -> str:
    values = {"workload": neighbour.key.partition("/")[2], "queue": neighbour.cluster_queue}
    if neighbour.gets_quota:
        return gettext("%(workload)s of %(queue)s comes first, and gets quota.") % values
    return gettext("%(workload)s of %(queue)s comes first, and keeps what its queue could use while it waits.") % values


def explain_small_flavor(nodes: FlavorNodes) -> str:
    """Return that a flavor's nodes are too small or too few, whatever its quota, and which nodes are not of it."""
    values = {
        "flavor": nodes.flavor,
        "fitting": f"{nodes.fitting:,}",
        "pods": format_count(nodes.count, "pods"),
        "nodes": format_count(nodes.nodes, "nodes"),
    }
    text = gettext("Quota counts sums: empty, the %(nodes)s of %(flavor)s hold %(fitting)s of its %(pods)s.") % values
    if not nodes.excluded:
        return text
    reasons = [
        gettext(_EXCLUSIONS[exclusion]) % {"nodes": format_count(count, "nodes")}
        for exclusion, count in nodes.excluded.items()
    ]
    return text + " " + gettext("Not of it: %(reasons)s.") % {"reasons": join_with_and(reasons)}


_EXCLUSIONS = {
    NodeExclusion.LABELS: gettext_noop("%(nodes)s with other labels"),
    NodeExclusion.LEVELS: gettext_noop("%(nodes)s without the label of a level"),
    NodeExclusion.UNUSABLE: gettext_noop("%(nodes)s not ready or cordoned"),
}


def explain_limit(chain: QuotaChain) -> str:
    """Return where on the way up the tree a resource is limited."""
    flavor, resource = chain.key
    step = next(step for step in chain.steps if step.node == chain.limiting_node)
    first_step = chain.steps[0]
    values = {
        "node": chain.limiting_node,
        "resource": resource,
        "flavor": flavor,
        "quota": write_amount(step.subtree, resource),
        "used": write_amount(step.used, resource),
        "left": write_amount(max(0, first_step.available), resource),
    }
    if chain.limit == BORROWING_LIMIT:
        text = gettext("The borrowingLimit of %(node)s leaves %(left)s in %(flavor)s.")
    elif len(chain.steps) == 1:
        text = gettext("%(node)s has %(quota)s in %(flavor)s, and uses %(used)s.")
    else:
        text = gettext("The cohort %(node)s has %(quota)s in %(flavor)s, and %(used)s is in use.")
    sentence = text % values
    for idle in chain.hidden:
        hidden = gettext("%(node)s keeps %(amount)s for itself, unused, because of its lendingLimit.")
        sentence += " " + hidden % {"node": idle.node, "amount": write_amount(idle.amount, resource)}
    return sentence


# Flavors

_ATTEMPT_LABELS = {
    "fit": gettext_noop("fits"),
    "Preempt": gettext_noop("fits after evictions in its own queue"),
    "Reclaim": gettext_noop("fits after evictions in other queues"),
    "NoCandidates": gettext_noop("too little unused; nobody may be evicted"),
    "no fit": gettext_noop("does not fit"),
}


def label_attempt(attempt: FlavorAttempt) -> str:
    if attempt.possibility is not None:
        return gettext(_ATTEMPT_LABELS[attempt.possibility])
    return gettext(_ATTEMPT_LABELS["fit" if attempt.mode.text == "Fit" else "no fit"])


def color_attempt(attempt: FlavorAttempt) -> str:
    if attempt.mode.text == "Fit":
        return "green"
    return "amber" if attempt.possibility is not None else "red"


def explain_attempt(attempt: FlavorAttempt) -> list[str]:
    """Return what was found of a flavor, resource by resource."""
    if attempt.mismatch is not None:
        return [attempt.mismatch.text]
    sentences = [explain_check(check) for check in attempt.checks]
    if not sentences:
        return list(attempt.reasons)
    if attempt.borrow:
        levels = ngettext(
            "It borrows from a cohort %(number)s level up.", "It borrows from a cohort %(number)s levels up.",
            attempt.borrow,
        )  # fmt: skip
        sentences.append(levels % {"number": f"{attempt.borrow:,}"})
    return sentences


def explain_check(check: QuotaCheck) -> str:
    resource = check.key.resource
    values = {
        "requested": write_amount(check.requested, resource),
        "available": write_amount(check.available, resource),
        "capacity": write_amount(check.capacity, resource),
        "missing": write_amount(check.missing, resource),
    }
    if check.exceeds_capacity:
        return gettext("Asks for %(requested)s; the queue can have %(capacity)s at most.") % values
    if not check.missing:
        return gettext("Asks for %(requested)s; %(available)s is in reach.") % values
    text = gettext("Asks for %(requested)s; %(available)s is in reach, so %(missing)s is missing.") % values
    if check.mode is PreemptionMode.NO_FIT and not check.is_preemption_tried:
        text += " " + gettext("No policy of the queue lets it evict others for more than its own quota.")
    return text


# Victims

_RULES = {
    IN_CLUSTER_QUEUE: gettext_noop("Has to go: withinClusterQueue is %(value)s, and it ranks lower."),
    IN_COHORT_RECLAIM_WHILE_BORROWING: gettext_noop(
        "Has to go: borrowWithinCohort allows it, as its priority is lower and its queue borrows."
    ),
    IN_COHORT_FAIR_SHARING: gettext_noop("Has to go: its queue's share is larger than this queue's would be."),
}
_RECLAIMED = gettext_noop("Has to go: its queue borrows, and reclaimWithinCohort is %(value)s.")
_VERDICTS = {
    CandidateVerdict.SPARED: gettext_noop("Stays: without it going the room is enough too."),
    CandidateVerdict.NOT_NEEDED: gettext_noop("Stays: those before it are enough."),
    CandidateVerdict.MUST_NOT_BORROW: gettext_noop(
        "Stays: it may go only for a workload within its queue's nominal quota, and this one would borrow."
    ),
    CandidateVerdict.WITHIN_NOMINAL: gettext_noop("Stays: its queue uses no more than its own quota."),
    CandidateVerdict.FAIR_SHARE: gettext_noop("Stays: its queue's share would become smaller than this queue's."),
    CandidateVerdict.IN_VAIN: gettext_noop("Stays: even with it gone there is too little."),
    CandidateVerdict.POLICY_NEVER: gettext_noop("Stays: %(policy)s is %(value)s."),
    CandidateVerdict.PRIORITY: gettext_noop("Stays: %(policy)s is %(value)s, and its priority is not low enough."),
    CandidateVerdict.NOT_ASKED: gettext_noop("Stays: nobody is asked, as the request exceeds the queue's quota."),
}


def explain_candidate(candidate: EvictionCandidate) -> str:
    """Return by which rule a workload has to go, or why it stays."""
    values = {"policy": candidate.policy, "value": candidate.policy_value}
    if candidate.verdict is CandidateVerdict.TARGET:
        return gettext(_RULES.get(candidate.rule, _RECLAIMED)) % values
    return gettext(_VERDICTS[candidate.verdict]) % values


def explain_search(search: EvictionSearch) -> str:
    """Return what was looked for among the others."""
    values = {"keys": write_keys(search.needed), "number": f"{len(search.targets):,}"}
    if search.targets:
        template = ngettext(
            "To free %(keys)s, %(number)s workload has to go.",
            "To free %(keys)s, %(number)s workloads have to go.",
            len(search.targets),
        )
        return f"{template % values} {_explain_chance(search)}".rstrip()
    if not search.candidates:
        return gettext("Nobody in the cohort uses %(keys)s.") % values
    return gettext("Nobody goes for %(keys)s: each one that uses it is listed with the reason.") % values


def _explain_chance(search: EvictionSearch) -> str:
    """Return what Kueue leaves to chance among the victims; "" for nothing."""
    if not search.tied_cohorts:
        return ""
    template = gettext("The cohorts %(cohorts)s have equal shares: Kueue asks one of them by chance, so others may go.")
    return template % {"cohorts": join_with_and(list(search.tied_cohorts))}


# Loops

_LOOP_RULES = {
    IN_CLUSTER_QUEUE: "withinClusterQueue",
    IN_COHORT_RECLAMATION: "reclaimWithinCohort",
    IN_COHORT_RECLAIM_WHILE_BORROWING: "borrowWithinCohort",
    IN_COHORT_FAIR_SHARING: gettext_noop("fair sharing"),
}
# Loops, and evictions of a loop, that are told.
MOST_LOOPS, MOST_EDGES = 5, 4


def describe_loop(loop: PreemptionLoop) -> str:
    """Return who evicts whom without end, by which rules, and why it goes on."""
    edges = [
        gettext("%(preemptor)s evicts %(victim)s (%(rule)s)")
        % {
            "preemptor": edge.preemptor,
            "victim": edge.victim,
            "rule": gettext(_LOOP_RULES[edge.reason]) if edge.reason in _LOOP_RULES else edge.reason,
        }
        for edge in loop.edges[:MOST_EDGES]
    ]
    values = {"evictions": join_with_and(edges), "count": f"{loop.count:,}"}
    sentence = gettext("Preemption loop, %(count)s times: %(evictions)s.") % values
    if loop.is_mutual:
        return sentence
    if IN_COHORT_FAIR_SHARING in loop.reasons:
        return sentence + " " + gettext("The order of shares lets the victim back in before the one it went for.")
    return sentence + " " + gettext("The next cycle lets the victim back in before the one it went for.")


# Remedies


def render_remedy(remedy: Remedy) -> str:
    """Return a change as an instruction, with its price."""
    values = {
        "flavor": remedy.flavor,
        "pod_set": remedy.pod_set,
        "field": remedy.field,
        "before": remedy.before,
        "after": remedy.after,
        "pods": format_count(int(remedy.after), "pods") if remedy.kind is RemedyKind.COUNT else "",
        "node": _name_node(remedy.quotas[0]) if remedy.quotas else "",
        "changes": join_with_and([_write_change(change) for change in remedy.quotas]) if remedy.quotas else "",
    }
    sentence = gettext(_REMEDIES[remedy.kind]) % values
    if not remedy.targets:
        return sentence
    evicted = join_with_and([key.partition("/")[2] for key in remedy.targets])
    return sentence + " " + gettext("It then evicts %(workloads)s.") % {"workloads": evicted}


_REMEDIES = {
    RemedyKind.NOMINAL_QUOTA: gettext_noop("Raise the nominal quota of %(node)s: %(changes)s."),
    RemedyKind.BORROWING_LIMIT: gettext_noop("Raise the borrowingLimit of %(node)s: %(changes)s."),
    RemedyKind.LENDING_LIMIT: gettext_noop("Drop the lendingLimit of %(node)s: %(changes)s."),
    RemedyKind.TOLERATION: gettext_noop("Let the pods of %(pod_set)s tolerate the taints of %(flavor)s."),
    RemedyKind.NODE_SELECTION: gettext_noop("Let the pods of %(pod_set)s run on the nodes of %(flavor)s."),
    RemedyKind.POLICY: gettext_noop("Set %(field)s to %(after)s instead of %(before)s."),
    RemedyKind.PRIORITY: gettext_noop("Give it priority %(after)s instead of %(before)s."),
    RemedyKind.COUNT: gettext_noop("Run %(pods)s of %(pod_set)s instead of %(before)s."),
}


def _name_node(change: QuotaChange) -> str:
    return gettext("the cohort %(name)s") % {"name": change.node} if change.is_cohort else change.node


def _write_change(change: QuotaChange) -> str:
    flavor, resource = change.key
    values = {
        "flavor": flavor,
        "resource": resource,
        "before": _write_limit(change.before, resource),
        "after": _write_limit(change.after, resource),
    }
    return gettext("%(resource)s in %(flavor)s from %(before)s to %(after)s") % values


def _write_limit(amount: int | None, resource: str) -> str:
    if amount is None:
        return gettext("no limit")
    return write_amount(amount, resource).removesuffix(f" {resource}").removesuffix(" CPU")


# Forecast


def render_forecast(forecast: Forecast) -> str:
    """Return when it gets quota, as a sentence."""
    early, late = forecast.early, forecast.late
    if early is None or late is None or forecast.run_times is None:
        return gettext("Nothing tells how long jobs run here: no workload has finished. Say how long, to see when.")
    if early.seconds is None and late.seconds is None:
        if ForecastEnd.LATER in (early.end, late.end):
            return gettext("It gets no quota within the time that was played ahead.")
        return gettext("It never gets quota as things are, even once all that runs has finished.")
    values = {"range": _write_range(early, late)}
    if early.seconds is None or late.seconds is None:
        return gettext("It gets quota in %(range)s at best, and with other run times not at all.") % values
    return gettext("It gets quota in %(range)s.") % values


def _write_range(early: ForecastPlay, late: ForecastPlay) -> str:
    seconds = sorted(play.seconds for play in (early, late) if play.seconds is not None)
    return format_range(format_duration(max(1, seconds[0])), format_duration(max(1, seconds[-1])))


def describe_run_times(run_times: RunTimeRange) -> str:
    """Return from what the forecast is made."""
    values = {
        "range": format_range(format_duration(run_times.short), format_duration(run_times.long)),
        "jobs": format_count(run_times.samples, "workloads"),
    }
    return gettext(_SOURCES[run_times.source]) % values


_SOURCES = {
    RunTimeSource.LOCAL_QUEUE: gettext_noop("Jobs are taken to run for %(range)s, as %(jobs)s of the same queue did."),
    RunTimeSource.CLUSTER_QUEUE: gettext_noop("Jobs are taken to run for %(range)s, as %(jobs)s of the queue did."),
    RunTimeSource.ALL: gettext_noop("Jobs are taken to run for %(range)s, as %(jobs)s of the cohort did."),
    RunTimeSource.ASSUMED: gettext_noop("Every job is taken to run for %(range)s, as you said."),
    RunTimeSource.LIMIT: gettext_noop("Jobs are taken to run for %(range)s, the longest that they may."),
}  # fmt: skip
