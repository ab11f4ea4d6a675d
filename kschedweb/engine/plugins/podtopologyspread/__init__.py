"""PodTopologySpread spreads matching pods evenly over zones, hosts or any other node label.

Hard constraints filter nodes, soft ones score them. ``defaultingType`` and ``defaultConstraints`` apply to pods without
constraints of their own. The selector of default constraints comes from the pod's services and controller.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange, has_place
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, round_half_away
from kschedweb.engine.framework.status import SKIP, SUCCESS, CycleError, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.labels import NOTHING, Selector
from kschedweb.engine.objects.node import HOSTNAME, ZONE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.spread import SCHEDULE_ANYWAY, SpreadConstraint
from kschedweb.engine.plugins.podtopologyspread.arguments import HKE, POD_TOPOLOGY_SPREAD, set_defaults, validate_args
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Codes, Floats, Ints, LabelColumn, Mask, Rows
from kschedweb.engine.state.label_groups import Selection
from kschedweb.engine.state.nodematching import match_tolerations, matches_required
from kschedweb.engine.state.owners import default_selector
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.topology import SelectionTally
from kschedweb.engine.values import dataclass

SKEW, LABEL = "skew", "label"
SKEWED = unschedulable("node(s) didn't match pod topology spread constraints", fact=SKEW)
UNLABELLED = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)", fact=LABEL)
MISSING = error('reading "PreFilterPodTopologySpread" from cycleState: not found')
# kube-scheduler's `systemDefaultConstraints`.
SYSTEM_DEFAULTS = (
    SpreadConstraint(3, HOSTNAME, SCHEDULE_ANYWAY),
    SpreadConstraint(5, ZONE, SCHEDULE_ANYWAY),
)


@dataclass(slots=True)
class Constraint:
    """A constraint with its columns, for pods of one signature."""

    # The constraint as the pod or the arguments give it.
    rule: SpreadConstraint
    selector: Selector
    column: LabelColumn
    # Nodes with all the labels that are required to take part.
    complete: Mask
    # Nodes whose pods count.
    counted: Mask
    # Topology values that take part.
    domains: Mask
    # Matching pods by topology value; by node for a soft constraint over hosts.
    tally: SelectionTally
    # The tally's counts in this cycle.
    counts: Ints
    weight: float = 0.0

    def clone(self) -> Constraint:
        return replace(self, counts=self.counts.copy(), domains=self.domains.copy())

    @property
    def by_host(self) -> bool:
        return self.rule.topology_key == HOSTNAME

    @property
    def value_scores(self) -> Floats:
        """The addition of each topology value to the raw score. Shape [values]."""
        return self.counts.astype(np.float64) * self.weight + float(self.rule.max_skew - 1)


@dataclass(slots=True)
class PreScoreState:
    """The state that PreScore leaves to Score."""

    constraints: list[Constraint]
    # Feasible nodes that lack a label and are not scored.
    ignored: Mask


class PodTopologySpread:
    name = "PodTopologySpread"

    def __init__(
        self,
        args: PluginArgs,
        comparison_operators: bool = False,
        hints_include_nominated_pods: bool = True,
        counts_empty_selector: bool = False,
    ) -> None:
        """Read the arguments; the flags depend on the release.

        ``comparison_operators``: tolerations may compare values, with the operators Gt and Lt.
        ``hints_include_nominated_pods``: see ``Behaviour.hints_include_nominated_pods``.
        ``counts_empty_selector``: see ``Behaviour.spread_empty_selector``.
        """
        self._counts_empty_selector = counts_empty_selector
        self._comparison_operators, self.hints_include_nominated_pods = (
            comparison_operators,
            hints_include_nominated_pods,
        )
        self.system = args.get("defaultingType", "System") == "System"
        self.defaults: tuple[SpreadConstraint, ...] = SYSTEM_DEFAULTS
        if not self.system:
            self.defaults = tuple(
                SpreadConstraint(int(item["maxSkew"]), item["topologyKey"], item["whenUnsatisfiable"])
                for item in args.get("defaultConstraints") or ()
            )

    def events(self) -> list[EventHint]:
        pods = Action.ADD | Action.POD_LABEL | Action.POD_TOLERATION | Action.DELETE
        nodes = Action.ADD | Action.DELETE | Action.NODE_LABEL | Action.NODE_TAINT
        return [
            EventHint(ClusterEvent(POD, pods), self._after_pod),
            EventHint(ClusterEvent(NODE, nodes), self._after_node),
        ]

    def _after_pod(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if a pod that a hard constraint of this pod counts came, left or changed its labels."""
        old, new = change.old, change.new
        if any(
            version is not None and not _is_involved(version, pod, self.hints_include_nominated_pods)
            for version in (old, new)
        ):
            return False
        rules = self._list_rules(change.cluster, pod, hard=True)
        if old is None or new is None:
            return any(selector.matches((new or old).labels) for _, selector in rules)
        tolerates_more = new.uid == pod.uid and new.tolerations != old.tolerations
        if tolerates_more and any(rule.honor_taints for rule, _ in rules):
            return True
        return any(selector.matches(old.labels) != selector.matches(new.labels) for _, selector in rules)

    def _after_node(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if the domains of the hard constraints changed, or the taints of one of their nodes did."""
        keys = [rule.topology_key for rule, _ in self._list_rules(change.cluster, pod, hard=True)]
        old, new = change.old, change.new
        counted_before, counts_now = (
            version is not None and all(key in version.labels for key in keys) for version in (old, new)
        )
        if old is None or new is None or counted_before != counts_now:
            return counted_before or counts_now
        return counts_now and (any(old.labels[key] != new.labels[key] for key in keys) or old.taints != new.taints)

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if pod.spread_constraints or self.defaults else PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        try:
            constraints = cycle.memoize(self.name, lambda: self._build_constraints(cycle, hard=True))
        except CycleError as problem:
            return PreFilterResult(
                error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {problem}")
            )
        if not constraints:
            return SKIPPED
        for constraint in constraints:
            constraint.counts = constraint.tally.current_counts()
        cycle.state[self.name] = constraints
        return PASSED

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, node, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, node, -1)

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        constraints: list[Constraint] = cycle.state.get(self.name, [])
        return pod.namespace == cycle.pod.namespace and any(
            constraint.selector.matches(pod.labels) for constraint in constraints
        )

    def _update_with_pod(self, cycle: Cycle, pod: Pod, node: int, sign: int) -> None:
        # Unlike in counting, kube-scheduler includes terminating pods and empty selectors here.
        constraints: list[Constraint] = cycle.state.get(self.name, [])
        for constraint in constraints:
            if (
                pod.namespace == cycle.pod.namespace
                and constraint.counted[node]
                and constraint.selector.matches(pod.labels)
            ):
                value = constraint.column.codes[node]
                constraint.counts[value] += sign
                constraint.domains[value] = True

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        constraints: list[Constraint] | None = cycle.state.get(self.name)
        if constraints is None:
            constraints = self._build_unprepared_constraints(cycle)
        if constraints is None:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        codes = np.zeros(len(cycle.snapshot), dtype=np.int32)
        # In reverse, so that the first constraint that rejects a node gives its reason.
        for constraint in reversed(constraints):
            skewed = self.skew(cycle.pod, constraint) > constraint.rule.max_skew
            codes[constraint.column.at_nodes(skewed, False)] = 2
            codes[~constraint.column.present] = 1
        return Verdicts(codes[rows], (SUCCESS, UNLABELLED, SKEWED))

    def _build_unprepared_constraints(self, cycle: Cycle) -> list[Constraint] | None:
        """Return the hard constraints if PreFilter did not run; ``None`` if the filter needs PreFilter."""
        return None

    @staticmethod
    def skew(pod: Pod, constraint: Constraint) -> Ints:
        """Return the skew with the pod at each topology value."""
        domains = constraint.counts[constraint.domains]
        # With fewer domains than minDomains the global minimum counts as 0.
        min_match_num = int(domains.min()) if domains.size and domains.size >= constraint.rule.min_domains else 0
        itself = 1 if constraint.selector.matches(pod.labels) else 0
        return constraint.counts + itself - min_match_num

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        try:
            constraints = cycle.memoize(score_key(self.name), lambda: self._build_constraints(cycle, hard=False))
        except CycleError as problem:
            return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {problem}")
        if not constraints:
            return SKIP
        complete = constraints[0].complete
        scored = np.zeros(len(cycle.snapshot), dtype=np.bool_)
        scored[rows] = complete[rows]
        for constraint in constraints:
            constraint.counts = constraint.tally.current_counts()
            if constraint.by_host:
                if cycle.snapshot.bare:
                    constraint.counts = np.zeros_like(constraint.counts)
                # The weight of `topologyNormalizingWeight`: ln(number of domains + 2).
                constraint.weight = math.log(int(scored.sum()) + 2)
                continue
            codes = _with_empty(constraint.column)
            constraint.domains = _occurring_values(constraint.column, codes[scored])
            # If labels are not required, nodes without the label form one more domain.
            unlabelled = bool((codes[scored] < 0).any())
            constraint.weight = math.log(int(constraint.domains.sum()) + unlabelled + 2)
        cycle.state[score_key(self.name)] = PreScoreState(constraints, ~complete)
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores by the matching pods at the node's topology values, weighted by the number of values; fewer
        is better.
        """
        soft = _soft_state(cycle, self.name)
        sums: NDArray[np.float64] = np.zeros(len(cycle.snapshot), dtype=np.float64)
        for constraint in soft.constraints:
            added = constraint.value_scores
            if constraint.by_host:
                sums = np.where(constraint.column.present, sums + added, sums)
            else:
                sums = sums + constraint.column.at_nodes(added, 0)
        sums[soft.ignored] = 0.0
        return round_half_away(sums)[rows]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        ignored = _soft_state(cycle, self.name).ignored[rows]
        scored = scores[~ignored]
        highest = max(0, int(scored.max(initial=0)))
        if highest == 0:
            return np.where(ignored, 0, MAX_NODE_SCORE).astype(np.int64)
        # Integer arithmetic in the original's order: MaxNodeScore * (max + min - score) / max.
        spread = MAX_NODE_SCORE * (highest + int(scored.min()) - scores) // highest
        return np.where(ignored, 0, spread).astype(np.int64)

    def _build_constraints(self, cycle: Cycle, *, hard: bool) -> list[Constraint]:
        """Return the pod's own constraints, or the defaults if it has none at all. Raises CycleError."""
        snapshot, pod = cycle.snapshot, cycle.pod
        rules = self._list_rules(snapshot.objects, pod, hard=hard)
        columns = [snapshot.label_column(rule.topology_key) for rule, _ in rules]
        # As `requireAllTopologies`: with the system defaults, nodes without zones are scored, too.
        labels_required = hard or bool(pod.spread_constraints) or not self.system
        complete = _have_all_labels(snapshot, columns if labels_required else [])
        return [
            _prepare_constraint(
                cycle,
                rule,
                selector,
                column,
                complete,
                complete & _included_nodes(cycle, rule, self._comparison_operators),
                self._make_selection(pod.namespace, selector),
            )
            for (rule, selector), column in zip(rules, columns, strict=True)
        ]

    def _make_selection(self, namespace: str, selector: Selector) -> Selection:
        """Return the pods that a constraint counts: no terminating ones, and up to 1.37 none for an empty selector."""
        counted = NOTHING if selector.is_empty and not self._counts_empty_selector else selector
        return Selection(((frozenset((namespace,)), counted),), terminating=False)

    def _list_rules(self, cluster: ClusterObjects, pod: Pod, *, hard: bool) -> list[tuple[SpreadConstraint, Selector]]:
        """Return the constraints of the pod with their selectors. Raises CycleError."""
        pod_constraints = pod.spread_constraints
        rules = [rule for rule in pod_constraints or self.defaults if rule.is_hard == hard]
        selectors = []
        if pod_constraints:
            for rule in rules:
                if rule.error:
                    raise CycleError(rule.error)
                selectors.append(rule.effective_selector(pod.labels))
        elif rules:
            selector = default_selector(cluster, pod)
            if selector.is_empty:
                return []
            selectors = [selector] * len(rules)
        return list(zip(rules, selectors, strict=True))


class HkePodTopologySpread(PodTopologySpread):
    """PodTopologySpread with other arguments. Its filter also works in a profile that does not enable PreFilter."""

    name = "HkePodTopologySpread"

    def _build_unprepared_constraints(self, cycle: Cycle) -> list[Constraint]:
        return self._build_constraints(cycle, hard=True)


def score_key(plugin: str) -> str:
    """Return the key of the scoring state in a cycle."""
    return f"{plugin}.score"


def _is_involved(other: Pod, pod: Pod, include_nominated: bool) -> bool:
    """Return whether ``other`` can count for the constraints of ``pod``; nominated pods if ``include_nominated``."""
    return other.uid == pod.uid or (
        has_place(other, include_nominated=include_nominated) and other.namespace == pod.namespace
    )


def _prepare_constraint(
    cycle: Cycle,
    rule: SpreadConstraint,
    selector: Selector,
    column: LabelColumn,
    complete: Mask,
    counted: Mask,
    selection: Selection,
) -> Constraint:
    snapshot = cycle.snapshot
    # Hosts are counted by node, not by label: a soft constraint over hosts then needs no domains.
    if rule.topology_key == HOSTNAME and not rule.is_hard:
        codes, size = np.arange(len(snapshot)), len(snapshot)
    else:
        codes, size = np.where(counted, _with_empty(column), -1), len(column.values)
    tally = SelectionTally(snapshot, selection, codes, size)
    domains = _occurring_values(column, column.codes[counted])
    return Constraint(rule, selector, column, complete, counted, domains, tally, tally.current_counts())


def _soft_state(cycle: Cycle, name: str) -> PreScoreState:
    soft: PreScoreState | None = cycle.state.get(score_key(name))
    if soft is None:
        raise CycleError(
            f'running Score plugins: plugin "{name}" failed with: '
            f'error reading "PreScore{name}" from cycleState: not found'
        )
    return soft


def _have_all_labels(snapshot: Snapshot, columns: list[LabelColumn]) -> Mask:
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for column in columns:
        mask &= column.present
    return mask


def _included_nodes(cycle: Cycle, rule: SpreadConstraint, comparison_operators: bool) -> Mask:
    """Return a mask of the nodes that count for a constraint, by its node inclusion policies."""
    mask = np.ones(len(cycle.snapshot), dtype=np.bool_)
    if rule.honor_affinity:
        mask &= matches_required(cycle.snapshot, cycle.pod)
    if rule.honor_taints:
        mask &= match_tolerations(cycle.snapshot, cycle.pod, comparison_operators)
    return mask


def _with_empty(column: LabelColumn) -> Codes:
    """Return the codes of the label, with a missing label as the empty value: kube-scheduler treats both alike."""
    empty = column.values.index("") if "" in column.values else -1
    return np.where(column.present, column.codes, np.int32(empty))


def _occurring_values(column: LabelColumn, codes: NDArray[np.signedinteger[Any]]) -> Mask:
    """Return a mask of the label's values that occur in ``codes``."""
    # The last place takes the code -1 of a missing label.
    occurs = np.zeros(len(column.values) + 1, dtype=np.bool_)
    occurs[codes] = True
    return occurs[:-1]


SPEC = PluginSpec(
    "PodTopologySpread",
    frozenset({"preFilter", "filter", "preScore", "score"}),
    "Spreads pods evenly over zones, hosts or other domains.",
    ArgsSpec(POD_TOPOLOGY_SPREAD, set_defaults, validate_args),
    factory=PodTopologySpread,
    variant=lambda release: {
        "factory": partial(
            PodTopologySpread,
            comparison_operators=release.is_enabled("TaintTolerationComparisonOperators"),
            hints_include_nominated_pods=release.behaviour.hints_include_nominated_pods,
            counts_empty_selector=release.behaviour.spread_empty_selector,
        )
    },
)
HKE_SPEC = PluginSpec(
    "HkePodTopologySpread",
    frozenset({"preFilter", "filter", "preScore", "score"}),
    "Does what PodTopologySpread does, with default constraints of its own.",
    ArgsSpec(HKE, set_defaults, validate_args),
    factory=HkePodTopologySpread,
    origin="kschedweb",
    rank=2,
)
