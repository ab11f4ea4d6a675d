"""InterPodAffinity filters and scores nodes by the affinity and anti-affinity of the pod and of placed pods.

``hardPodAffinityWeight`` is the weight of a placed pod's required affinity terms in scoring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.config.types import BOOL, INT32, StructField
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange, has_place
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import SKIP, SUCCESS, CycleError, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.affinity import PodAffinity, PodTerm
from kschedweb.engine.objects.labels import NOTHING
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Ints, Mask, Rows
from kschedweb.engine.state.label_groups import Selection
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.topology import SelectionTally, TermTally, TopologySums
from kschedweb.engine.validation.fields import Problem, child_path, invalid
from kschedweb.engine.values import dataclass

NEAR, ANTI_AFFINITY_FACT, EXISTING_FACT = "affinity", "anti-affinity", "anti-affinity of others"
AFFINITY = unresolvable("node(s) didn't match pod affinity rules", fact=NEAR)
ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules", fact=ANTI_AFFINITY_FACT)
EXISTING = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules", fact=EXISTING_FACT)
MISSING = error('error reading "PreFilterInterPodAffinity" from cycleState: not found')
SCORE = "InterPodAffinity.score"


@dataclass(slots=True)
class RequiredCounts:
    """The counts of PreFilter: pods by topology value, for the pod's own terms and for those of placed pods."""

    # Placed pods whose required anti-affinity matches the incoming pod.
    existing: TopologySums
    # Placed pods that match all required affinity terms of the incoming pod.
    affinity: TopologySums
    # Placed pods that match a required anti-affinity term of the incoming pod.
    anti: TopologySums
    # The pod matches all its required affinity terms itself.
    matches_itself: bool

    def clone(self) -> RequiredCounts:
        return RequiredCounts(self.existing.clone(), self.affinity.clone(), self.anti.clone(), self.matches_itself)


@dataclass(frozen=True, slots=True)
class TopologyCounts:
    """The counts for pods of one signature: their own terms by topology key, and the terms of placed pods."""

    # Topology key, weight, pods that match.
    tallies: list[tuple[str, int, SelectionTally]]
    placed: TermTally

    def total_sums(self) -> TopologySums:
        """Return the sum of all counts. It must not be changed."""
        placed = self.placed.current_sums()
        return self._add_tallies(placed.clone()) if self.tallies else placed

    def tally_sums(self, snapshot: Snapshot) -> TopologySums:
        return self._add_tallies(TopologySums(snapshot))

    def _add_tallies(self, sums: TopologySums) -> TopologySums:
        for key, weight, tally in self.tallies:
            sums.add_counts(key, tally.current_counts(), weight)
        return sums


class InterPodAffinity:
    name = "InterPodAffinity"

    def __init__(
        self,
        args: PluginArgs,
        namespace_selector_per_term: bool = False,
        symmetric_hint: bool = True,
        hint_matches_any_term: bool = True,
        hints_include_nominated_pods: bool = True,
        namespace_label_hints: bool = False,
    ) -> None:
        """Read the arguments; the flags depend on the release.

        ``namespace_selector_per_term``: a term keeps its namespace selector beside the namespaces that it matches
        (up to 1.36).
        ``symmetric_hint``: a deleted pod requeues pods that its own anti-affinity kept away, too.
        ``hint_matches_any_term``: for that, one of several terms of anti-affinity has to match, else all of them.
        ``hints_include_nominated_pods``: see ``Behaviour.hints_include_nominated_pods``.
        ``namespace_label_hints``: see ``Behaviour.namespace_label_hints``.
        """
        self.namespace_selector_per_term = namespace_selector_per_term
        self.symmetric_hint, self.hint_matches_any_term = symmetric_hint, hint_matches_any_term
        self.hints_include_nominated_pods = hints_include_nominated_pods
        self.namespace_label_hints = namespace_label_hints
        weight = args.get("hardPodAffinityWeight")
        self.hard_weight = 1 if weight is None else int(weight)
        self.ignore_preferred = bool(args.get("ignorePreferredTermsOfExistingPods"))

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(POD, Action.ADD | Action.POD_LABEL | Action.DELETE), self._after_pod),
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL), _after_node),
        ]

    def _after_pod(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if a pod came that this pod has affinity to, or one left that kept this pod away."""
        old, new, affinity = change.old, change.new, pod.pod_affinity
        if self.hints_include_nominated_pods and old is not None and new is not None and new.uid == pod.uid:
            return True
        if any(
            version is not None and not has_place(version, include_nominated=self.hints_include_nominated_pods)
            for version in (old, new)
        ):
            return False
        incoming = affinity.anti_required if new is None else affinity.required
        terms = incoming if new is None or old is None else (*affinity.required, *affinity.anti_required)
        changed_pods = [version for version in (old, new) if version is not None]
        if self._needs_unknown_namespace(terms, changed_pods, change.cluster):
            return True
        labels = self._namespace_labels(changed_pods[0], change.cluster)
        if new is not None and old is not None:
            # An update of labels helps if the pod matches affinity now, or no longer matches anti-affinity.
            comes = not _matches_all(incoming, old, labels) and _matches_all(incoming, new, labels)
            return comes or (
                self._matches_anti_affinity(affinity, old, labels)
                and not self._matches_anti_affinity(affinity, new, labels)
            )
        if new is not None:
            return _matches_all(incoming, new, labels)
        return self._matches_anti_affinity(affinity, old, labels) or (
            self.symmetric_hint and self._kept_away(pod, old, change.cluster)
        )

    def _kept_away(self, pod: Pod, deleted: Pod, cluster: ClusterObjects) -> bool:
        return self._needs_unknown_namespace(
            deleted.pod_affinity.anti_required, [pod], cluster
        ) or self._matches_anti_affinity(deleted.pod_affinity, pod, self._namespace_labels(pod, cluster))

    def _needs_unknown_namespace(self, terms: Iterable[PodTerm], pods: Iterable[Pod], cluster: ClusterObjects) -> bool:
        """Return True if only the labels of a namespace that is not known say whether a term matches one of ``pods``,
        all of one namespace.
        """
        return self.namespace_label_hints and any(
            cluster.get("Namespace", "", pod.namespace) is None
            and not (term.namespace_selector.nothing or term.namespace_selector.is_empty)
            and pod.namespace not in term.namespaces
            and term.selector.matches(pod.labels)
            for term in terms
            for pod in pods
        )

    def _namespace_labels(self, pod: Pod, cluster: ClusterObjects) -> dict[str, str]:
        return cluster.namespace_labels(pod.namespace) if self.namespace_label_hints else {}

    def _matches_anti_affinity(self, affinity: PodAffinity, pod: Pod, namespace_labels: dict[str, str]) -> bool:
        terms = affinity.anti_required
        if not self.hint_matches_any_term:
            return _matches_all(terms, pod, namespace_labels)
        return any(term.matches(pod.namespace, pod.labels, namespace_labels) for term in terms)

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        snapshot, pod_affinity = cycle.snapshot, cycle.pod.pod_affinity
        if pod_affinity.error:
            return PreFilterResult(unresolvable(f"parsing pod: {pod_affinity.error}"))
        if (
            not snapshot.pods.has_required_anti_affinity
            and not pod_affinity.required
            and not pod_affinity.anti_required
        ):
            return SKIPPED
        anti, affinity, matches_itself = cycle.memoize(self.name, lambda: self._count_required(cycle))
        existing = anti.placed.current_sums()
        if not existing.number and not pod_affinity.required and not pod_affinity.anti_required:
            return SKIPPED
        cycle.state[self.name] = RequiredCounts(
            existing, affinity.tally_sums(snapshot), anti.tally_sums(snapshot), matches_itself
        )
        return PASSED

    def _count_required(self, cycle: Cycle) -> tuple[TopologyCounts, TopologyCounts, bool]:
        """Return (anti-affinity, affinity, whether the pod matches all its required affinity terms itself)."""
        snapshot, pod = cycle.snapshot, cycle.pod
        pods, means_incoming = snapshot.pods, _incoming_matcher(cycle)

        def weigh_terms(code: int) -> dict[str, int]:
            # Two terms over the same topology count twice, also when a dry run removes the pod.
            terms = pods.term_sets[code].affinity.anti_required
            return Counter(term.topology_key for term in terms if means_incoming(term))

        existing = TermTally(snapshot, lambda: pods.find_anti_affinity_candidates(pod.labels), weigh_terms)
        nothing = TermTally(snapshot, list, lambda code: {})
        required = [self._merge_namespaces(term, snapshot) for term in pod.pod_affinity.required]
        anti = [
            _tally_term(snapshot, [self._merge_namespaces(term, snapshot)], term, 1)
            for term in pod.pod_affinity.anti_required
        ]
        affinity = [_tally_term(snapshot, required, term, 1) for term in required]
        itself = bool(required) and all(_matches_group(term, pod.namespace, pod.labels) for term in required)
        return TopologyCounts(anti, existing), TopologyCounts(affinity, nothing), itself

    def _merge_namespaces(self, term: PodTerm, snapshot: Snapshot) -> PodTerm:
        """Return the term with the namespaces that its namespace selector matches added by name.

        Up to 1.36 the selector stays in the term, and is later matched against empty labels (specification 2.8).
        """
        if term.namespace_selector.is_empty or term.namespace_selector.nothing:
            return term
        namespace_labels = snapshot.objects.namespaces
        meant = term.namespaces | {
            name for name, labels in namespace_labels.items() if term.namespace_selector.matches(labels)
        }
        selector = term.namespace_selector if self.namespace_selector_per_term else NOTHING
        return replace(term, namespaces=meant, namespace_selector=selector)

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, node, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, node, -1)

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        affinity, means_incoming = cycle.pod.pod_affinity, _incoming_matcher(cycle)
        return any(means_incoming(term) for term in pod.pod_affinity.anti_required) or any(
            _matches_group(self._merge_namespaces(term, cycle.snapshot), pod.namespace, pod.labels)
            for term in (*affinity.required, *affinity.anti_required)
        )

    def _update_with_pod(self, cycle: Cycle, pod: Pod, node: int, sign: int) -> None:
        state: RequiredCounts | None = cycle.state.get(self.name)
        if state is None:
            return
        pod_affinity = cycle.pod.pod_affinity
        means_incoming = _incoming_matcher(cycle)
        for term in pod.pod_affinity.anti_required:
            if means_incoming(term):
                state.existing.add_amount(term.topology_key, node, 1, sign)
        affinity = [self._merge_namespaces(term, cycle.snapshot) for term in pod_affinity.required]
        if affinity and all(_matches_group(term, pod.namespace, pod.labels) for term in affinity):
            for term in affinity:
                state.affinity.add_amount(term.topology_key, node, 1, sign)
        for term in pod_affinity.anti_required:
            if _matches_group(self._merge_namespaces(term, cycle.snapshot), pod.namespace, pod.labels):
                state.anti.add_amount(term.topology_key, node, 1, sign)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        state: RequiredCounts | None = cycle.state.get(self.name)
        if state is None:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        snapshot, affinity = cycle.snapshot, cycle.pod.pod_affinity
        codes = np.zeros(len(snapshot), dtype=np.int32)
        if not state.existing.is_empty:
            # Written in the reverse order of the original's checks, so that the reason of the first failing check
            # remains.
            codes[state.existing.positive_at_nodes()] = 3
        for key in dict.fromkeys(term.topology_key for term in affinity.anti_required):
            codes[state.anti.at_nodes(key) > 0] = 2
        if affinity.required:
            codes[~self._affinity_holds(snapshot, affinity.required, state)] = 1
        return Verdicts(codes[rows], (SUCCESS, AFFINITY, ANTI_AFFINITY, EXISTING))

    @staticmethod
    def _affinity_holds(snapshot: Snapshot, required: tuple[PodTerm, ...], state: RequiredCounts) -> Mask:
        labelled: Mask = np.ones(len(snapshot), dtype=np.bool_)
        matching: Mask = np.ones(len(snapshot), dtype=np.bool_)
        for term in required:
            labelled &= snapshot.label_column(term.topology_key).present
            matching &= state.affinity.at_nodes(term.topology_key) > 0
        # The first pod of a group with affinity to itself may go to any node.
        first_of_its_kind = state.affinity.is_empty and state.matches_itself
        return labelled if first_of_its_kind else labelled & matching

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        affinity = cycle.pod.pod_affinity
        # As `PreScore` does: without preferences of its own, the pod skips those of others if the argument says so.
        if self.ignore_preferred and not (affinity.preferred or affinity.anti_preferred):
            return SKIP
        sums = cycle.memoize(SCORE, lambda: self._count_preferred(cycle)).total_sums()
        if not sums.number:
            return SKIP
        cycle.state[SCORE] = sums
        return SUCCESS

    def _count_preferred(self, cycle: Cycle) -> TopologyCounts:
        snapshot, affinity, labels = cycle.snapshot, cycle.pod.pod_affinity, cycle.pod.labels
        pods, means_incoming = snapshot.pods, _incoming_matcher(cycle)

        def weigh_terms(code: int) -> dict[str, int]:
            placed = pods.term_sets[code].affinity
            weights: dict[str, int] = {}
            for term, weight in placed.weighted_terms:
                if means_incoming(term):
                    weights[term.topology_key] = weights.get(term.topology_key, 0) + weight
            for term in placed.required if self.hard_weight > 0 else ():
                if means_incoming(term):
                    weights[term.topology_key] = weights.get(term.topology_key, 0) + self.hard_weight
            return weights

        tallies = [
            _tally_term(snapshot, [self._merge_namespaces(term, snapshot)], term, weight)
            for term, weight in affinity.weighted_terms
        ]
        return TopologyCounts(
            tallies, TermTally(snapshot, lambda: pods.find_other_term_candidates(labels), weigh_terms)
        )

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the sum of weights of the pod's terms, and of placed pods' terms about it, at the node's topology
        values.
        """
        sums: TopologySums | None = cycle.state.get(SCORE)
        if sums is None:
            raise CycleError(
                'running Score plugins: plugin "InterPodAffinity" failed with: '
                'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
            )
        return sums.total_at_nodes()[rows]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        lowest, highest = int(scores.min()), int(scores.max())
        if highest == lowest:
            return np.zeros_like(scores)
        # The share comes first, then the multiplication and truncation, as in `NormalizeScore`.
        share = (scores - lowest).astype(np.float64) / float(highest - lowest)
        return (float(MAX_NODE_SCORE) * share).astype(np.int64)


def _incoming_matcher(cycle: Cycle) -> Callable[[PodTerm], bool]:
    """Return a test of whether a term matches the incoming pod."""
    namespace, labels = cycle.pod.namespace, cycle.pod.labels
    of_namespace = cycle.snapshot.objects.namespace_labels(namespace)
    return lambda term: term.matches(namespace, labels, of_namespace)


def _matches_group(term: PodTerm, namespace: str, labels: dict[str, str]) -> bool:
    return term.matches(namespace, labels, {})


def _tally_term(
    snapshot: Snapshot, meant: list[PodTerm], term: PodTerm, weight: int
) -> tuple[str, int, SelectionTally]:
    """Return the topology key of ``term``, its weight, and a tally of the placed pods that all terms in ``meant``
    match.
    """
    column = snapshot.label_column(term.topology_key)
    selection = Selection(
        tuple(
            (None if matched.namespace_selector.matches({}) else matched.namespaces, matched.selector)
            for matched in meant
        )
    )
    return term.topology_key, weight, SelectionTally(snapshot, selection, column.codes, len(column.values))


def _matches_all(terms: tuple[PodTerm, ...], pod: Pod, namespace_labels: dict[str, str]) -> bool:
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, namespace_labels) for term in terms)


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if a node got or changed a topology value that matters for the pod's terms."""
    affinity, new = pod.pod_affinity, change.new.labels
    if change.old is None:
        return bool(affinity.anti_required) or any(term.topology_key in new for term in affinity.required)
    old = change.old.labels

    def differs(term: PodTerm) -> bool:
        return bool(new.get(term.topology_key) != old.get(term.topology_key))

    # Getting the label helps pods with affinity, losing it those with anti-affinity.
    return any(differs(term) and term.topology_key in new for term in affinity.required) or any(
        differs(term) and term.topology_key in old for term in affinity.anti_required
    )


ARGS = args_struct(
    "InterPodAffinityArgs",
    "How affinity of other pods counts.",
    StructField(
        "hardPodAffinityWeight",
        INT32,
        "Score for each required affinity of a running pod that matches the new one.",
        pointer=True,
        default=1,
        minimum=0,
        maximum=100,
    ),
    StructField(
        "ignorePreferredTermsOfExistingPods",
        BOOL,
        "Leave out preferences of running pods unless the new pod has some itself.",
        omit_empty=False,
        default=False,
    ),
)


def set_defaults(args: PluginArgs) -> None:
    if args["hardPodAffinityWeight"] is None:
        args["hardPodAffinityWeight"] = 1


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    weight = args["hardPodAffinityWeight"]
    if 0 <= weight <= 100:
        return []
    return [invalid(child_path(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]


SPEC = PluginSpec(
    "InterPodAffinity",
    frozenset({"preFilter", "filter", "preScore", "score"}),
    "Places pods near to or away from other pods.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=InterPodAffinity,
    variant=lambda release: {
        "factory": partial(
            InterPodAffinity,
            namespace_selector_per_term=release.behaviour.namespace_selector_per_term,
            symmetric_hint=release.behaviour.anti_affinity_symmetric_hint,
            hint_matches_any_term=release.behaviour.anti_affinity_hint_matches_any_term,
            hints_include_nominated_pods=release.behaviour.hints_include_nominated_pods,
            namespace_label_hints=release.behaviour.namespace_label_hints,
        )
    },
)
