"""MatchInterPodAffinity: required affinity and anti-affinity of the pod and of placed pods."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SUCCESS, error, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PodTerm
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins.interpodaffinity import InterPodAffinity, RequiredCounts
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.objects import as_of_then, faults_of, find_placed_fault
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.label_groups import Selection
from kschedweb.engine.state.topology import SelectionTally, TopologySums

# State: set if a selector cannot be parsed.
FAULTY = "MatchInterPodAffinity.faulty"
TERMS = "MatchInterPodAffinity.terms"
# State: keys of the pods that preemption put back.
BACK = "MatchInterPodAffinity.back"

EXISTING, AFFINITY, ANTI_AFFINITY = (
    unschedulable(reasons.POD_AFFINITY, reason)
    for reason in (reasons.EXISTING_RULES, reasons.AFFINITY_RULES, reasons.ANTI_AFFINITY_RULES)
)


class MatchInterPodAffinity(InterPodAffinity):
    """A predicate that rejects nodes where a required term of the pod, or of a placed pod, would not hold.

    Anti-affinity of placed pods is checked first, then the pod's affinity, then its anti-affinity. Unlike today, the
    first pod of a group with affinity to itself may also go to nodes without the topology label.

    If a selector cannot be parsed, it fails as 1.13 does without its precomputed metadata: 1.13 then compares the pod
    with each placed one, and so reads the pod's own terms only if there is a placed pod.
    """

    # True if the pod's own terms are read even without placed pods.
    reads_terms_alone = False

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__({})
        self.name = name

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        result = super().pre_filter(cycle)
        faults = faults_of(cycle.pod.pod_affinity)
        if not (faults.required or faults.anti_required or cycle.snapshot.pods.unreadable):
            return result
        cycle.state[FAULTY] = True
        return PreFilterResult()

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        state: RequiredCounts | None = cycle.state.get(self.name)
        if FAULTY in cycle.state and (verdicts := self._fail_unparsable(cycle, rows, state)) is not None:
            return verdicts
        if state is None:
            return Verdicts.uniform(cycle.num_rows(rows))
        snapshot, affinity = cycle.snapshot, cycle.pod.pod_affinity
        codes = np.zeros(len(snapshot), dtype=np.int32)
        for key in dict.fromkeys(term.topology_key for term in affinity.anti_required):
            codes[state.anti.at_nodes(key) > 0] = 3
        if affinity.required:
            codes[~self._satisfies_affinity(cycle, state)] = 2
        if state.existing.number:
            codes[state.existing.positive_at_nodes()] = 1
        return Verdicts(codes[rows], (SUCCESS, EXISTING, AFFINITY, ANTI_AFFINITY))

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        """Return whether ``pod`` matters.

        If a selector cannot be parsed, every pod that is compared with terms does.
        """
        return FAULTY in cycle.state or super().depends_on(cycle, pod)

    def _fail_unparsable(self, cycle: Cycle, rows: Rows, state: RequiredCounts | None) -> Verdicts | None:
        """Return the verdicts that an unparsable selector causes; ``None`` if 1.13 does not read it."""
        snapshot, pod = cycle.snapshot, cycle.pod
        if fault := find_placed_fault(snapshot.pods, "anti_required"):
            message = f"Failed to get all terms that pod {pod.key} matches, err: {fault}"
            return Verdicts.uniform(cycle.num_rows(rows), error(message))
        faults, compared = faults_of(pod.pod_affinity), self.reads_terms_alone or bool(snapshot.pods.slots)
        statuses = [SUCCESS, EXISTING]
        codes = np.full(len(snapshot), len(statuses), dtype=np.int32)
        if faults.required and compared:
            words = f"Cannot schedule pod {pod.key} onto node {{}}, because of PodAffinity, err: {faults.required}"
            codes += np.arange(len(snapshot), dtype=np.int32)
            statuses += [error(words.format(name)) for name in snapshot.names]
        elif faults.required:
            statuses.append(AFFINITY)
        elif faults.anti_required and compared:
            statuses.append(ANTI_AFFINITY)
        else:
            return None
        if state is not None and state.existing.number:
            codes[state.existing.positive_at_nodes()] = 1
        return Verdicts(codes[rows], tuple(statuses))

    def _update_with_pod(self, cycle: Cycle, pod: Pod, node: int, sign: int) -> None:
        """Update the counts as 1.13 does during preemption, which differs from its first count.

        Of a pod that is nominated to a node only its own anti-affinity counts. A pod that is put back counts for all
        anti-affinity terms if it matches one.
        """
        if self.name not in cycle.state:  # no pod on a node cares, but this one, which is promised a node, may
            existing, affinity, anti = (TopologySums(cycle.snapshot) for _ in range(3))
            cycle.state[self.name] = RequiredCounts(existing, affinity, anti, False)
        state, me, pod = cycle.state[self.name], cycle.pod, as_of_then(pod)
        pod_affinity = me.pod_affinity
        for term in pod.pod_affinity.anti_required:
            if term.matches(me.namespace, me.labels, {}):
                state.existing.add_amount(term.topology_key, node, 1, sign)
        if not pod.node_name:
            return
        if pod_affinity.required and all(term.matches(pod.namespace, pod.labels, {}) for term in pod_affinity.required):
            for term in pod_affinity.required:
                state.affinity.add_amount(term.topology_key, node, 1, sign)
        for term in self._matching_anti_terms(cycle, pod, sign):
            state.anti.add_amount(term.topology_key, node, 1, sign)

    @staticmethod
    def _matching_anti_terms(cycle: Cycle, pod: Pod, sign: int) -> tuple[PodTerm, ...]:
        """Return the anti-affinity terms for which the pod counts when it comes (``sign`` 1) or leaves."""
        terms = cycle.pod.pod_affinity.anti_required
        matching = tuple(term for term in terms if term.matches(pod.namespace, pod.labels, {}))
        back: list[str] = cycle.state.setdefault(BACK, [])
        if sign > 0:
            back.append(pod.key)
        elif pod.key in back:
            back.remove(pod.key)
        else:
            return matching
        return terms if matching else ()

    def _satisfies_affinity(self, cycle: Cycle, state: RequiredCounts) -> Mask:
        """Return a mask of the nodes near, in each term's topology, a pod that matches all required affinity terms."""
        mask: Mask = np.ones(len(cycle.snapshot), dtype=np.bool_)
        if state.affinity.is_empty and state.matches_itself:
            return mask
        for term in cycle.pod.pod_affinity.required:
            mask &= state.affinity.at_nodes(term.topology_key) > 0
        return mask


class MatchInterPodAffinityByTerm(MatchInterPodAffinity):
    """The predicate of 1.9: each required affinity term is checked by itself, with any pod that matches it.

    A term without matching pods holds on all nodes if it matches the pod itself, else on none.
    """

    reads_terms_alone = True

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        result = super().pre_filter(cycle)
        if cycle.pod.pod_affinity.required and self.name in cycle.state:
            tallies = cycle.memoize(
                f"{self.name}.terms", lambda: [_of_term(cycle, term) for term in _required_terms(cycle)]
            )
            cycle.state[TERMS] = [
                (term, tally.current_counts(), self._matches_any_pod(cycle, term)) for term, tally in tallies
            ]
        return result

    @staticmethod
    def _matches_any_pod(cycle: Cycle, term: PodTerm) -> bool:
        """Return whether a placed pod matches, on whatever node."""
        return bool(cycle.snapshot.pods.nodes_of(Selection(((term.namespaces, term.selector),))).size)

    def _satisfies_affinity(self, cycle: Cycle, state: RequiredCounts) -> Mask:
        snapshot, pod = cycle.snapshot, cycle.pod
        mask: Mask = np.ones(len(snapshot), dtype=np.bool_)
        for term, counts, meant in cycle.state[TERMS]:
            if meant:
                mask &= snapshot.label_column(term.topology_key).at_nodes(counts > 0, False)
            elif not term.matches(pod.namespace, pod.labels, {}):
                mask[:] = False
        return mask


def _required_terms(cycle: Cycle) -> tuple[PodTerm, ...]:
    return cycle.pod.pod_affinity.required


def _of_term(cycle: Cycle, term: PodTerm) -> tuple[PodTerm, SelectionTally]:
    column = cycle.snapshot.label_column(term.topology_key)
    selection = Selection(((term.namespaces, term.selector),))
    return term, SelectionTally(cycle.snapshot, selection, column.codes, len(column.values))
