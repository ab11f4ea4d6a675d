"""Judge a policy: check its run and the baseline's against thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.capacity.buffer import Buffer
from kschedweb.engine.studies.compare.comparison import NEVER_TRIED, PlacementChange, PlacementComparison
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate.thresholds import Amount, MeasureLimits, Thresholds
from kschedweb.engine.studies.measure import conditions
from kschedweb.engine.studies.measure.registry import find_spec, get_spec, group_of
from kschedweb.engine.studies.measure.values import HIGHER, LOWER, PERCENT, PODS, POINTS, Measures, RunMeasure
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import last_node, latest_rows
from kschedweb.engine.values import dataclass

PASS, FAIL = "pass", "fail"
# Pods that a check lists.
MOST_PODS = 50
# Slack for float sums in another order.
ROUNDING = 1e-9
# Kinds of controllers whose pods each node has; static pods belong to their "Node".
NODE_WORKLOADS = frozenset({"DaemonSet", "Node"})
NO_PROFILE = "No profile of the policy has the pod's schedulerName."
SKEWS = tuple(f"skew_{name}_end" for name in (CPU, MEMORY))
# A cluster may lack what these measures need, so a threshold may name them nevertheless.
OPTIONAL = (conditions.BUDGETS, conditions.USED)


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one threshold."""

    name: str
    label: str
    passed: bool
    # Values under the policy and under the baseline; None if there is nothing to measure.
    value: float | None
    baseline: float | None
    unit: str
    # Limits in the form of a document.
    limits: Mapping[str, Any]
    sentence: str
    # The first pods concerned.
    pods: tuple[PlacementChange, ...] = ()
    # Number of further pods.
    more: int = 0

    def to_dict(self) -> Json:
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "pods"}
        return {**plain, "limits": dict(self.limits), "pods": [pod.to_dict() for pod in self.pods]}


@dataclass(frozen=True, slots=True)
class GateJudgement:
    """The judgement of two runs of one scenario."""

    checks: tuple[Check, ...]
    # Pods with a node in both runs.
    scheduled: int
    # Numbers of changes.
    counts: Mapping[str, Any]
    # Every measure with its value in both runs.
    measures: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def summary(self) -> str:
        """One sentence on the checks."""
        failed = [check for check in self.checks if not check.passed]
        if not failed:
            return f"All {len(self.checks)} checks pass." if len(self.checks) > 1 else "The check passes."
        verb = "fails" if len(failed) == 1 else "fail"
        sentences = " ".join(check.sentence for check in failed)
        return f"{len(failed)} of {format_count(len(self.checks), 'check')} {verb}: {sentences}"

    def to_dict(self) -> Json:
        return {
            "verdict": PASS if self.passed else FAIL,
            "summary": self.summary,
            "checks": [check.to_dict() for check in self.checks],
            "counts": dict(self.counts),
            "measures": [dict(measure) for measure in self.measures],
        }


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two runs with their measures, and their comparison."""

    before: RunOutcome
    after: RunOutcome
    before_measures: Measures
    after_measures: Measures
    comparison: PlacementComparison
    # The losses of each zone at the end of the second run, if a threshold needs them.
    losses: Buffer | None = None


def judge_runs(pair: RunPair, thresholds: Thresholds) -> GateJudgement:
    """Check ``pair.after`` against ``pair.before``; raise DocumentError for an unknown measure."""
    _check_measure_names(pair, thresholds)
    lost, scheduled = newly_unschedulable(pair), _count_scheduled(pair)
    counts = pair.comparison.counts() | {"scheduled": scheduled, "newlyUnschedulable": len(lost)}
    measures = tuple(_pair_measures(pair))
    return GateJudgement(tuple(_iterate_checks(pair, thresholds, lost, scheduled)), scheduled, counts, measures)


def _iterate_checks(
    pair: RunPair, thresholds: Thresholds, lost: list[PlacementChange], scheduled: int
) -> Iterator[Check]:
    if thresholds.max_newly_unschedulable is not None:
        whole = int((pair.after.attempts > 0).sum())
        finding = "No pod is newly unschedulable"
        if lost:
            verb = _choose_verb(len(lost), "finds", "find")
            finding = f"{format_count(len(lost), 'pod')} {verb} no node but would under the baseline"
        label = "Newly unschedulable pods"
        yield _check_pods("newly_unschedulable", label, lost, thresholds.max_newly_unschedulable, whole, finding)
    if thresholds.max_moved is not None:
        moved, share = pair.comparison.moved, ""
        if scheduled:
            share = (
                f" ({format_number(100.0 * len(moved) / scheduled)} % of the {scheduled:,} that have one under both)"
            )
        finding = f"{format_count(len(moved), 'pod')} {_choose_verb(len(moved), 'goes', 'go')} to another node{share}"
        yield _check_pods("moved", "Moved pods", moved, thresholds.max_moved, scheduled, finding)
    if thresholds.max_pending is not None:
        yield _check_pending(pair, thresholds.max_pending)
    if thresholds.max_skew_increase is not None:
        limits = MeasureLimits(max_change=Amount(thresholds.max_skew_increase))
        yield from (_check_measure(pair, name, limits) for name in SKEWS)
    if pair.losses is not None:
        yield _check_zone_loss(pair.losses)
    yield from (_check_measure(pair, name, limits) for name, limits in thresholds.measures.items())
    yield from _check_nothing_runs(pair.after)


def _check_pods(name: str, label: str, pods: list[PlacementChange], limit: Amount, whole: int, finding: str) -> Check:
    allowed = limit.value_of(whole)
    passed = len(pods) <= allowed + ROUNDING
    sentence = f"{finding}; {_describe_limit(limit)}."
    return _list_pods(Check(name, label, passed, float(len(pods)), None, PODS, {"max": limit.plain}, sentence), pods)


def _list_pods(check: Check, pods: Iterable[PlacementChange]) -> Check:
    listed = list(pods)
    return replace(check, pods=tuple(listed[:MOST_PODS]), more=max(0, len(listed) - MOST_PODS))


def _check_pending(pair: RunPair, limit: float) -> Check:
    outcome, before = pair.after, pair.before
    nodes = {pod_pair.after: last_node(before, pod_pair.before) for pod_pair in pair.comparison.pairs.listed}
    waiting = [
        PlacementChange(outcome.pods[row], nodes.get(row, ""), "", message=_last_message(outcome, row))
        for row in outcome.pending.tolist()
    ]
    value, base = float(len(waiting)), float(len(before.pending))
    verb = _choose_verb(len(waiting), "waits", "wait")
    sentence = f"{format_count(len(waiting), 'pod')} {verb} at the end; {_describe_limit(Amount(limit))}."
    label = "Pods that wait at the end"
    return _list_pods(Check("pending", label, value <= limit, value, base, PODS, {"max": limit}, sentence), waiting)


def _check_zone_loss(losses: Buffer) -> Check:
    """Check that all pods that count find a node again, whichever zone is lost; list the pods of the worst loss."""
    worst, priorities = losses.worst_loss, f"of priority {losses.priority:,} and above"
    unplaced = worst.pods - worst.placed if worst is not None else 0
    if worst is None:
        sentence = "No node has a zone, so there is no zone to lose."
    elif not unplaced:
        sentence = f"Every pod {priorities} finds a node again after the loss of any one zone."
    else:
        finding = f"{format_count(unplaced, 'pod')} {priorities} {_choose_verb(unplaced, 'finds', 'find')} no node"
        sentence = f"{finding} after the loss of zone {worst.name}; allowed: none."
    stranded = (
        [PlacementChange(stranded_pod.pod, "", "", message=stranded_pod.message) for stranded_pod in worst.stranded]
        if worst
        else []
    )
    label = "Pods without a node after the loss of a zone"
    return _list_pods(
        Check("zone_loss", label, not unplaced, float(unplaced), None, PODS, {"max": 0}, sentence), stranded
    )


def _check_nothing_runs(outcome: RunOutcome) -> Iterator[Check]:
    """Yield a failed check if pods were to be scheduled and none ever had a node.

    Pods of nodes themselves, which exist from the beginning, do not count. There is no threshold for this: a policy
    that was never seen to place a pod must not pass because the baseline placed none either.
    """
    had_node = ~np.isnan(outcome.bound)
    to_schedule = (outcome.attempts > 0) | ~had_node
    if not (to_schedule.any() or outcome.refused) or (had_node & (to_schedule | ~_of_nodes(outcome))).any():
        return
    waiting = [
        PlacementChange(outcome.pods[row], "", "", message=_last_message(outcome, row))
        for row in outcome.pending.tolist()
    ]
    number = max(int(to_schedule.sum()), len(outcome.refused))
    reason = next(
        (change.message for change in waiting if change.message),
        outcome.refused[0][1] if outcome.refused else NO_PROFILE,
    )
    subject = (
        "The pod to be scheduled does not run" if number == 1 else f"None of the {number:,} pods to be scheduled runs"
    )
    sentence = f"{subject}, so the policy was not tried on any: {reason}"
    check = Check("nothing_runs", "Pods that run", False, 0.0, None, PODS, {"min": 1}, sentence)
    yield _list_pods(check, waiting)


def _of_nodes(outcome: RunOutcome) -> NDArray[np.bool_]:
    """Return the pods of DaemonSets, and static ones: bool[pods]."""
    kinds = np.array([name.split("/")[1] in NODE_WORKLOADS for name in outcome.workloads] + [False], dtype=np.bool_)
    # The code -1 of pods without a controller indexes the last entry.
    of_nodes: NDArray[np.bool_] = kinds[outcome.workload]
    return of_nodes


def _check_measure(pair: RunPair, name: str, limits: MeasureLimits) -> Check:
    before, after = _find_measure(pair.before_measures, name), _find_measure(pair.after_measures, name)
    measure = after or before
    if measure is None:  # It is one of OPTIONAL.
        label = get_spec(name).label
        return Check(name, label, True, None, None, "", limits.plain, "There is nothing to measure.")
    value, base = after.value if after else None, before.value if before else None
    if value is None:
        passed, sentence = base is None, f"{measure.label}: there is nothing to measure under the policy."
    else:
        wrong = list(_broken_limits(measure, limits, value, base))
        passed, sentence = not wrong, _measure_sentence(measure, limits, value, base)
    return Check(name, measure.label, passed, value, base, measure.unit, limits.plain, sentence)


def _broken_limits(measure: RunMeasure, limits: MeasureLimits, value: float, base: float | None) -> Iterator[str]:
    if limits.max is not None and value > limits.max + ROUNDING:
        yield "max"
    if limits.min is not None and value < limits.min - ROUNDING:
        yield "min"
    change = limits.max_change
    if (
        change is not None
        and base is not None
        and compute_worsening(measure, value, base) > change.value_of(base) + ROUNDING
    ):
        yield "maxChange"


def compute_worsening(measure: RunMeasure, value: float, base: float) -> float:
    """Return by how much ``value`` is worse than ``base``; without a better direction, by how much it differs."""
    if measure.direction == LOWER:
        return value - base
    return base - value if measure.direction == HIGHER else abs(value - base)


def _measure_sentence(measure: RunMeasure, limits: MeasureLimits, value: float, base: float | None) -> str:
    sentence = f"{measure.label}: {format_amount(value, measure.unit)}"
    if base is not None:
        change = value - base
        direction = "more" if change > 0 else "less"
        sentence += (
            f", {format_amount(abs(change), unit_of_change(measure.unit))} {direction} than"
            if change
            else ", the same as"
        )
        sentence += " under the baseline"
    allowed = [
        f"at {word} {format_amount(limit, measure.unit)}"
        for word, limit in (("most", limits.max), ("least", limits.min))
        if limit is not None
    ]
    if limits.max_change is not None:
        way = {LOWER: "more", HIGHER: "less"}.get(measure.direction, "more or less")
        max_change = limits.max_change
        by = (
            f"{max_change.number:g} %"
            if max_change.percent
            else format_amount(max_change.number, unit_of_change(measure.unit))
        )
        allowed.append(f"at most {by} {way}")
    return f"{sentence}; allowed: {' and '.join(allowed)}."


# The values that are checked.


def newly_unschedulable(pair: RunPair) -> list[PlacementChange]:
    """Return pods that wait without a node under the policy, but not under the baseline.

    They include pods that only this run has, and pods whose scheduler name has no profile in the policy.
    """
    first, second, pairs = pair.before, pair.after, pair.comparison.pairs
    changes_by_pod = {change.pod: change for change in pair.comparison.newly_unscheduled}
    waits, waited = set(second.pending.tolist()), set(first.pending.tolist())
    candidates = [
        (pod_pair.pod, pod_pair.after, last_node(first, pod_pair.before))
        for pod_pair in pairs.listed
        if pod_pair.before not in waited
    ]
    candidates += [(second.pods[row], row, "") for row in pairs.only_after]
    for pod, row, before in candidates:
        if row in waits and pod not in changes_by_pod:
            changes_by_pod[pod] = PlacementChange(
                pod, before, "", message=_last_message(second, row), after_pod=second.pods[row]
            )
    before_rows = latest_rows(first)
    for pod in second.ignored:
        if pod not in first.ignored:
            before = last_node(first, before_rows[pod]) if pod in before_rows else ""
            changes_by_pod[pod] = PlacementChange(pod, before, "", message=NO_PROFILE)
    return [_with_message(change, second) for change in changes_by_pod.values()]


def _with_message(change: PlacementChange, outcome: RunOutcome) -> PlacementChange:
    """Return the change with the pod's last message, if its comparison has none."""
    row = outcome.index.get(change.after_pod or change.pod)
    if row is None or change.message not in ("", NEVER_TRIED):
        return change
    return replace(change, message=_last_message(outcome, row) or change.message)


def _count_scheduled(pair: RunPair) -> int:
    """Return the number of pods with a node in both runs, without those that had it from the beginning."""
    listed = pair.comparison.pairs.listed
    return sum(
        bool(pair.before.node[pod_pair.before] >= 0 and pair.after.node[pod_pair.after] >= 0) for pod_pair in listed
    )


def _last_message(outcome: RunOutcome, row: int) -> str:
    text = int(outcome.message[row])
    return outcome.texts[text] if text >= 0 else ""


def _find_measure(measures: Measures, name: str) -> RunMeasure | None:
    return next((measure for measure in measures if measure.name == name), None)


def _check_measure_names(pair: RunPair, thresholds: Thresholds) -> None:
    names = {measure.name: None for measure in (*pair.before_measures, *pair.after_measures)}
    problems = [
        DocumentProblem(f"thresholds.measures[{name!r}]", f"is not measured here; measured are {', '.join(names)}")
        for name in thresholds.measures
        if name not in names and not _is_optional(name)
    ]
    if problems:
        raise ScenarioError(problems)


def _is_optional(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.when in OPTIONAL


def _pair_measures(pair: RunPair) -> Iterator[Json]:
    """Yield every measure with its value in both runs."""
    for measure in pair.after_measures:
        before = _find_measure(pair.before_measures, measure.name)
        description = {key: value for key, value in asdict(measure).items() if key != "value"}
        yield {
            **description,
            "group": group_of(measure.name).name,
            "baseline": before.value if before else None,
            "policy": measure.value,
        }


# Words.


def format_count(number: int, noun: str) -> str:
    """Return a count with its noun, such as "1 pod", "1,200 pods" or "no pod"."""
    if not number:
        return f"No {noun}" if noun == "pod" else f"no {noun}"
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _choose_verb(number: int, singular: str, plural: str) -> str:
    return singular if number < 2 else plural


def _describe_limit(limit: Amount) -> str:
    return (
        f"allowed: at most {format_number(limit.number)}{' %' if limit.percent else ''}"
        if limit.number
        else "allowed: none"
    )


def format_number(value: float) -> str:
    """Return a readable number: an integer if it is whole, else with a few digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def unit_of_change(unit: str) -> str:
    """Return the unit of a difference: that of two percentages is in points."""
    return POINTS if unit == PERCENT else unit


def format_amount(value: float, unit: str) -> str:
    """Return a value with its unit, in the singular or plural."""
    singular = {
        "pods": "pod",
        "nodes": "node",
        POINTS: "point",
        "budgets": "budget",
        "changes": "change",
        "node-hours": "node-hour",
    }
    text = format_number(value)
    return f"{text} {singular.get(unit, unit) if text == '1' else unit}"
