"""The judgement of a policy: its run and the baseline's, checked against thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.capacity.buffer import Buffer
from kschedweb.engine.studies.compare.comparison import NEVER_TRIED, Comparison, PlacementChange
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate.thresholds import Amount, Limits, Thresholds
from kschedweb.engine.studies.measure.measured import HIGHER, LOWER, PERCENT, PODS, POINTS, Measure, Measures, When
from kschedweb.engine.studies.measure.registry import find_spec, get_spec, group_of
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.successors import last_node, latest
from kschedweb.engine.values import dataclass

PASS, FAIL = "pass", "fail"
MOST_PODS = 50  # listed in a check
ROUNDING = 1e-9
NODE_WORKLOADS = frozenset({"DaemonSet", "Node"})
NO_PROFILE = "No profile of the policy has the pod's schedulerName."
SKEWS = tuple(f"skew_{name}_end" for name in (CPU, MEMORY))
# A cluster may lack what these measures need; naming one of them is no error.
OPTIONAL = (When.BUDGETS, When.USED)


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one threshold: ``value`` under the policy and under the ``baseline``, in ``unit``.

    ``limits`` are as written. ``pods`` has the first pods concerned, ``more`` the number of others.
    """

    name: str
    label: str
    passed: bool
    value: float | None
    baseline: float | None
    unit: str
    limits: Mapping[str, Any]
    sentence: str
    pods: tuple[PlacementChange, ...] = ()
    more: int = 0

    def to_dict(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__slots__ if name != "pods"}
        return {**own, "limits": dict(self.limits), "pods": [pod.to_dict() for pod in self.pods]}


@dataclass(frozen=True, slots=True)
class GateJudgement:
    """The judgement of two runs of one scenario. ``scheduled`` pods have a node in both."""

    checks: tuple[Check, ...]
    scheduled: int
    counts: Mapping[str, Any]
    measures: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def summary(self) -> str:
        """One sentence."""
        failed = [check for check in self.checks if not check.passed]
        if not failed:
            return f"All {len(self.checks)} checks pass." if len(self.checks) > 1 else "The check passes."
        verb = "fails" if len(failed) == 1 else "fail"
        return (
            f"{len(failed)} of {counted(len(self.checks), 'check')} {verb}: {' '.join(one.sentence for one in failed)}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": PASS if self.passed else FAIL,
            "summary": self.summary,
            "checks": [check.to_dict() for check in self.checks],
            "counts": dict(self.counts),
            "measures": [dict(one) for one in self.measures],
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """The two runs with their measures, and how they differ.

    ``losses`` is what follows from the loss of each zone at the end of the second, where that is asked for.
    """

    before: Outcome
    after: Outcome
    before_measures: Measures
    after_measures: Measures
    comparison: Comparison
    losses: Buffer | None = None


def judge(pair: Pair, thresholds: Thresholds) -> GateJudgement:
    """Check ``pair.after`` against ``pair.before``; raises DocumentError for an unknown measure."""
    _known(pair, thresholds)
    lost, scheduled = newly_unschedulable(pair), _scheduled(pair)
    counts = pair.comparison.counts() | {"scheduled": scheduled, "newlyUnschedulable": len(lost)}
    measures = tuple(_both(pair))
    return GateJudgement(tuple(_checks(pair, thresholds, lost, scheduled)), scheduled, counts, measures)


def _checks(pair: Pair, asked: Thresholds, lost: list[PlacementChange], scheduled: int) -> Iterator[Check]:
    if asked.max_newly_unschedulable is not None:
        whole = int((pair.after.attempts > 0).sum())
        said = "No pod is newly unschedulable"
        if lost:
            said = (
                f"{counted(len(lost), 'pod')} {_verb(len(lost), 'finds', 'find')} no node but would under the baseline"
            )
        label = "Newly unschedulable pods"
        yield _of_pods("newly_unschedulable", label, lost, asked.max_newly_unschedulable, whole, said)
    if asked.max_moved is not None:
        moved, share = pair.comparison.moved, ""
        if scheduled:
            share = f" ({number(100.0 * len(moved) / scheduled)} % of the {scheduled:,} that have one under both)"
        said = f"{counted(len(moved), 'pod')} {_verb(len(moved), 'goes', 'go')} to another node{share}"
        yield _of_pods("moved", "Moved pods", moved, asked.max_moved, scheduled, said)
    if asked.max_pending is not None:
        yield _pending(pair, asked.max_pending)
    if asked.max_skew_increase is not None:
        limits = Limits(max_change=Amount(asked.max_skew_increase))
        yield from (_measured(pair, name, limits) for name in SKEWS)
    if pair.losses is not None:
        yield _zone_loss(pair.losses)
    yield from (_measured(pair, name, limits) for name, limits in asked.measures.items())
    yield from _nothing_runs(pair.after)


def _of_pods(name: str, label: str, pods: list[PlacementChange], limit: Amount, whole: int, said: str) -> Check:
    most = limit.of(whole)
    passed = len(pods) <= most + ROUNDING
    sentence = f"{said}; {_allowed(limit)}."
    return _listing(Check(name, label, passed, float(len(pods)), None, PODS, {"max": limit.plain}, sentence), pods)


def _listing(check: Check, pods: Iterable[PlacementChange]) -> Check:
    listed = list(pods)
    return replace(check, pods=tuple(listed[:MOST_PODS]), more=max(0, len(listed) - MOST_PODS))


def _pending(pair: Pair, most: float) -> Check:
    outcome, before = pair.after, pair.before
    nodes = {one.after: last_node(before, one.before) for one in pair.comparison.pairs.listed}
    waiting = [
        PlacementChange(outcome.pods[row], nodes.get(row, ""), "", said=_said(outcome, row))
        for row in outcome.pending.tolist()
    ]
    value, base = float(len(waiting)), float(len(before.pending))
    verb = _verb(len(waiting), "waits", "wait")
    sentence = f"{counted(len(waiting), 'pod')} {verb} at the end; {_allowed(Amount(most))}."
    label = "Pods that wait at the end"
    return _listing(Check("pending", label, value <= most, value, base, PODS, {"max": most}, sentence), waiting)


def _zone_loss(losses: Buffer) -> Check:
    """Whether all pods that count are placed again, whichever zone is lost; the pods are those of the worst loss."""
    worst, of = losses.worst, f"of priority {losses.priority:,} and above"
    left = worst.pods - worst.placed if worst is not None else 0
    if worst is None:
        sentence = "No node has a zone, so there is no zone to lose."
    elif not left:
        sentence = f"Every pod {of} finds a node again after the loss of any one zone."
    else:
        found = f"{counted(left, 'pod')} {of} {_verb(left, 'finds', 'find')} no node"
        sentence = f"{found} after the loss of zone {worst.name}; allowed: none."
    stranded = [PlacementChange(one.pod, "", "", said=one.message) for one in worst.stranded] if worst else []
    label = "Pods without a node after the loss of a zone"
    return _listing(Check("zone_loss", label, not left, float(left), None, PODS, {"max": 0}, sentence), stranded)


def _nothing_runs(outcome: Outcome) -> Iterator[Check]:
    """The failed check of a run in which pods were to be scheduled and none ever had a node.

    Pods of nodes themselves, which are there from the beginning, do not count. There is no threshold for this: a
    policy that was never seen to place a pod must not pass because the baseline placed none either.
    """
    had_node = ~np.isnan(outcome.bound)
    wanted = (outcome.attempts > 0) | ~had_node
    if not (wanted.any() or outcome.refused) or (had_node & (wanted | ~_of_nodes(outcome))).any():
        return
    waiting = [PlacementChange(outcome.pods[row], "", "", said=_said(outcome, row)) for row in outcome.pending.tolist()]
    number = max(int(wanted.sum()), len(outcome.refused))
    reason = next((one.said for one in waiting if one.said), outcome.refused[0][1] if outcome.refused else NO_PROFILE)
    what = (
        "The pod to be scheduled does not run" if number == 1 else f"None of the {number:,} pods to be scheduled runs"
    )
    sentence = f"{what}, so the policy was not tried on any: {reason}"
    check = Check("nothing_runs", "Pods that run", False, 0.0, None, PODS, {"min": 1}, sentence)
    yield _listing(check, waiting)


def _of_nodes(outcome: Outcome) -> NDArray[np.bool_]:
    """The pods of DaemonSets, and static ones: bool[pods]."""
    kinds = np.array([name.split("/")[1] in NODE_WORKLOADS for name in outcome.workloads] + [False], dtype=np.bool_)
    of_nodes: NDArray[np.bool_] = kinds[outcome.workload]  # -1, no controller, is the last one
    return of_nodes


def _measured(pair: Pair, name: str, limits: Limits) -> Check:
    before, after = _find(pair.before_measures, name), _find(pair.after_measures, name)
    measure = after or before
    if measure is None:  # of OPTIONAL
        label = get_spec(name).label
        return Check(name, label, True, None, None, "", limits.plain, "There is nothing to measure.")
    value, base = after.value if after else None, before.value if before else None
    if value is None:
        passed, sentence = base is None, f"{measure.label}: there is nothing to measure under the policy."
    else:
        wrong = list(_broken(measure, limits, value, base))
        passed, sentence = not wrong, _sentence(measure, limits, value, base)
    return Check(name, measure.label, passed, value, base, measure.unit, limits.plain, sentence)


def _broken(measure: Measure, limits: Limits, value: float, base: float | None) -> Iterator[str]:
    if limits.max is not None and value > limits.max + ROUNDING:
        yield "max"
    if limits.min is not None and value < limits.min - ROUNDING:
        yield "min"
    change = limits.max_change
    if change is not None and base is not None and worse(measure, value, base) > change.of(base) + ROUNDING:
        yield "maxChange"


def worse(measure: Measure, value: float, base: float) -> float:
    """By how much ``value`` is worse than ``base``; without a better direction, by how much it differs."""
    if measure.direction == LOWER:
        return value - base
    return base - value if measure.direction == HIGHER else abs(value - base)


def _sentence(measure: Measure, limits: Limits, value: float, base: float | None) -> str:
    said = f"{measure.label}: {amount(value, measure.unit)}"
    if base is not None:
        change = value - base
        direction = "more" if change > 0 else "less"
        said += f", {amount(abs(change), unit_of_change(measure.unit))} {direction} than" if change else ", the same as"
        said += " under the baseline"
    allowed = [
        f"at {word} {amount(limit, measure.unit)}"
        for word, limit in (("most", limits.max), ("least", limits.min))
        if limit is not None
    ]
    if limits.max_change is not None:
        way = {LOWER: "more", HIGHER: "less"}.get(measure.direction, "more or less")
        most = limits.max_change
        by = f"{most.number:g} %" if most.percent else amount(most.number, unit_of_change(measure.unit))
        allowed.append(f"at most {by} {way}")
    return f"{said}; allowed: {' and '.join(allowed)}."


# The values that are checked.


def newly_unschedulable(pair: Pair) -> list[PlacementChange]:
    """Pods that wait without a node under the policy, but not under the baseline.

    They include pods that only this run has, and pods whose scheduler name has no profile in the policy.
    """
    first, second, pairs = pair.before, pair.after, pair.comparison.pairs
    found = {change.pod: change for change in pair.comparison.newly_unscheduled}
    waits, waited = set(second.pending.tolist()), set(first.pending.tolist())
    told = [(one.pod, one.after, last_node(first, one.before)) for one in pairs.listed if one.before not in waited]
    told += [(second.pods[row], row, "") for row in pairs.only_after]
    for pod, row, before in told:
        if row in waits and pod not in found:
            found[pod] = PlacementChange(pod, before, "", said=_said(second, row), after_pod=second.pods[row])
    before_rows = latest(first)
    for pod in second.ignored:
        if pod not in first.ignored:
            before = last_node(first, before_rows[pod]) if pod in before_rows else ""
            found[pod] = PlacementChange(pod, before, "", said=NO_PROFILE)
    return [_with_message(change, second) for change in found.values()]


def _with_message(change: PlacementChange, outcome: Outcome) -> PlacementChange:
    """The change with the pod's last message, if its comparison has none."""
    row = outcome.index.get(change.after_pod or change.pod)
    if row is None or change.said not in ("", NEVER_TRIED):
        return change
    return replace(change, said=_said(outcome, row) or change.said)


def _scheduled(pair: Pair) -> int:
    """The number of pods with a node in both runs, without those that had it from the beginning."""
    listed = pair.comparison.pairs.listed
    return sum(bool(pair.before.node[one.before] >= 0 and pair.after.node[one.after] >= 0) for one in listed)


def _said(outcome: Outcome, row: int) -> str:
    text = int(outcome.message[row])
    return outcome.texts[text] if text >= 0 else ""


def _find(measures: Measures, name: str) -> Measure | None:
    return next((one for one in measures if one.name == name), None)


def _known(pair: Pair, thresholds: Thresholds) -> None:
    names = {one.name: None for one in (*pair.before_measures, *pair.after_measures)}
    problems = [
        DocumentProblem(f"thresholds.measures[{name!r}]", f"is not measured here; measured are {', '.join(names)}")
        for name in thresholds.measures
        if name not in names and not _is_optional(name)
    ]
    if problems:
        raise DocumentError(problems)


def _is_optional(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.when in OPTIONAL


def _both(pair: Pair) -> Iterator[dict[str, Any]]:
    """Every measure with its value in both runs."""
    for one in pair.after_measures:
        before = _find(pair.before_measures, one.name)
        told = {key: value for key, value in asdict(one).items() if key != "value"}
        yield {
            **told,
            "group": group_of(one.name).name,
            "baseline": before.value if before else None,
            "policy": one.value,
        }


# Words.


def counted(number: int, noun: str) -> str:
    """A count with its noun, such as "1 pod", "1,200 pods" or "no pod"."""
    if not number:
        return f"No {noun}" if noun == "pod" else f"no {noun}"
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number < 2 else many


def _allowed(limit: Amount) -> str:
    return (
        f"allowed: at most {number(limit.number)}{' %' if limit.percent else ''}" if limit.number else "allowed: none"
    )


def number(value: float) -> str:
    """A readable number: an integer if it is whole, else with a few digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def unit_of_change(unit: str) -> str:
    """The unit of a difference: that of two percentages is in points."""
    return POINTS if unit == PERCENT else unit


def amount(value: float, unit: str) -> str:
    """A value with its unit, in the singular or plural."""
    singular = {
        "pods": "pod",
        "nodes": "node",
        POINTS: "point",
        "budgets": "budget",
        "changes": "change",
        "node-hours": "node-hour",
    }
    shown = number(value)
    return f"{shown} {singular.get(unit, unit) if shown == '1' else unit}"
