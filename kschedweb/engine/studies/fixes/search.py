"""Find the smallest changes after which a pending pod finds a node. Each is tried by the scheduling cycle itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import FEASIBLE, Explanation
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.kinds import is_queue_gate
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.fixes import claim_changes, node_changes
from kschedweb.engine.studies.fixes.changes import Change, ChangeKind, Fix, ReadQueues
from kschedweb.engine.studies.fixes.owners import PodSource
from kschedweb.engine.studies.fixes.proposals import MOVABLE, Proposal, Proposer
from kschedweb.engine.studies.fixes.shortages import compute_distances
from kschedweb.engine.studies.fixes.trial import build_trial, try_changes

# Fixes that are offered.
MOST_FIXES = 3
# Combinations of verdicts that are looked at, and nodes of each.
MOST_VERDICTS, NODES_OF_VERDICT = 8, 2
# Proposals of a node, and trials of a pod: each trial is a scheduling cycle.
MOST_PROPOSALS, MOST_TRIALS = 6, 24
# Changes after which the pod is explained anew, because PreFilter or PreEnqueue hid the verdicts on nodes.
MOST_ROUNDS = 2


def find_fixes(
    scheduler: Scheduler,
    pod: Pod,
    explanation: Explanation | None = None,
    *,
    limit: int = MOST_FIXES,
    source: PodSource | None = None,
    read_queues: ReadQueues | None = None,
) -> list[Fix]:
    """Return at most ``limit`` fixes for a ``pod`` without a node, the smallest first; none if it finds a node.

    ``explanation`` is that of the pod, if there is one; ``source`` is where it is written, if the cluster does not
    say that. ``read_queues`` returns Kueue's queues, whose quotas are changed where the pod waits for them. No fix has
    all kinds of changes of another one.
    """
    if pod.key in scheduler.snapshot.pods.slots:
        return []
    if pod.scheduler_name not in scheduler.frameworks:
        proposals = [
            (Proposer(scheduler, pod, source).pod_changes.change_scheduler(name),) for name in scheduler.frameworks
        ]
        return [Fix(changes, node) for changes in proposals if (node := try_changes(scheduler, pod, changes))][:limit]
    search = _FixSearch(scheduler, pod, limit, source, read_queues)
    search.run((), explanation)
    return search.fixes


class _FixSearch:
    def __init__(
        self,
        scheduler: Scheduler,
        pod: Pod,
        limit: int,
        source: PodSource | None,
        read_queues: ReadQueues | None,
    ) -> None:
        self._scheduler, self._pod, self._limit, self._source = scheduler, pod, limit, source
        self._read_queues = read_queues
        self._by_kinds: dict[frozenset[ChangeKind], Fix] = {}
        self._trials = 0

    @property
    def fixes(self) -> list[Fix]:
        ordered = sorted(self._by_kinds.values(), key=lambda fix: (fix.cost, fix.sentence))
        return ordered[: self._limit]

    def run(self, changes: Proposal, explanation: Explanation | None = None, rounds: int = MOST_ROUNDS) -> None:
        """Look for fixes that begin with ``changes``."""
        try:
            scheduler, pod = (
                build_trial(self._scheduler, self._pod, changes) if changes else (self._scheduler, self._pod)
            )
            if explanation is None:
                explanation = scheduler.explain(pod, as_scheduled=True)
        except (CycleError, ObjectError, KeyError):
            return
        proposer = Proposer(scheduler, pod, self._source)
        if not explanation.pre_enqueue.ok or explanation.pre_filter is not None:
            for more_changes in self._list_prerequisites(proposer, explanation) if rounds else ():
                self.run((*changes, *more_changes), None, rounds - 1)
        elif explanation.chosen is None:
            self._try_proposals(changes, proposer, explanation)
        elif changes:
            self._try(changes)

    def _list_prerequisites(self, proposer: Proposer, explanation: Explanation) -> list[Proposal]:
        """Return changes without which no node is looked at: any of the proposals will do."""
        if explanation.pre_enqueue.ok:
            claims = claim_changes.change_volume_claims(proposer.snapshot, proposer.pod)
            return [claims] if claims else []
        gates = proposer.pod_changes.remove_gates()
        waits_for_quota = any(map(is_queue_gate, proposer.pod.gates))
        queues = self._read_queues() if self._read_queues and waits_for_quota else None
        if queues is not None:
            # Most clusters have no queues, and need not wait for their modules.
            from kschedweb.engine.studies.fixes.quota_changes import list_quota_proposals

            return [proposal for proposal in list_quota_proposals(queues, proposer.pod, gates) if proposal]
        return [gates] if gates else []

    def _try_proposals(self, changes: Proposal, proposer: Proposer, explanation: Explanation) -> None:
        # Moves and new nodes are larger changes that take longer to find, so they are looked for last.
        for proposals in (
            self._propose(proposer, explanation, moving=False),
            self._propose(proposer, explanation, moving=True),
            ((change,) for change in node_changes.add_nodes(proposer.snapshot, proposer.pod)),
        ):
            if len(self._by_kinds) >= self._limit:
                return
            for proposal in _order_proposals(proposals):
                if self._trials >= MOST_TRIALS or self._is_settled(proposal):
                    break
                self._try((*changes, *proposal))

    def _is_settled(self, proposal: Proposal) -> bool:
        """Return whether enough fixes are known that are smaller than ``proposal`` and all that follow."""
        known_fixes = self.fixes
        return len(known_fixes) >= self._limit and known_fixes[-1].cost <= _cost(proposal)

    def _try(self, changes: Proposal) -> None:
        changes = _without_repetitions(changes)
        if self._is_covered(changes):
            return
        self._trials += 1
        node = try_changes(self._scheduler, self._pod, changes)
        if not node:
            return
        changes, node = self._drop_needless(changes, node)
        if not self._is_covered(changes):
            self._by_kinds[frozenset(change.kind for change in changes)] = Fix(changes, node)

    def _is_covered(self, changes: Proposal) -> bool:
        """Return whether a known fix does with the kinds of ``changes``, or with fewer."""
        kinds = {change.kind for change in changes}
        return any(fewer_kinds <= kinds for fewer_kinds in self._by_kinds)

    def _drop_needless(self, changes: Proposal, node: str) -> tuple[Proposal, str]:
        """Return the changes without those that do not matter, and the node that they lead to."""
        for change in changes if len(changes) > 1 else ():
            fewer = tuple(other for other in changes if other is not change)
            if fewer and (other_node := try_changes(self._scheduler, self._pod, fewer)):
                changes, node = fewer, other_node
        return changes, node

    def _propose(self, proposer: Proposer, explanation: Explanation, *, moving: bool) -> Iterator[Proposal]:
        """Yield proposals without moves of pods, or those with one."""
        if not moving:
            yield from _propose_for_pod(proposer)
        for position, statuses in iterate_candidates(proposer.snapshot, proposer.pod, explanation):
            if moving and not any(status.plugin in MOVABLE for status in statuses):
                continue
            alternatives = [proposer.propose(position, status, moving=moving) for status in statuses]
            if all(alternatives):
                for count, parts in enumerate(product(*alternatives)):
                    if count == MOST_PROPOSALS:
                        break
                    yield tuple(change for part in parts for change in part)


def _propose_for_pod(proposer: Proposer) -> Iterator[Proposal]:
    """Yield proposals that do not depend on a node."""
    snapshot, pod = proposer.snapshot, proposer.pod
    for change in claim_changes.lower_device_counts(snapshot, pod):
        yield (change,)
    offered = [name for name in snapshot.resources if is_extended(name) and _is_offered(snapshot, name)]
    for resource, amount in pod.requests.items():
        if amount and is_extended(resource) and not _is_offered(snapshot, resource):
            for change in proposer.pod_changes.replace_resource(resource, offered):
                yield (change,)


def _is_offered(snapshot: Snapshot, resource: str) -> bool:
    return bool(snapshot.resource_row(snapshot.allocatable, resource).any()) or (
        resource in snapshot.objects.devices.extended_resources
    )


def iterate_candidates(snapshot: Snapshot, pod: Pod, explanation: Explanation) -> Iterator[tuple[int, list[Status]]]:
    """Yield nodes with all verdicts against them: for each combination of verdicts the nodes that lack the least."""
    columns = [column for column in explanation.filters if not column.skipped and column.codes.any()]
    rejected = np.flatnonzero(explanation.rejected_by > FEASIBLE)
    if not columns or not rejected.size:
        return
    codes = np.stack([column.codes[rejected] for column in columns])
    combinations, kinds = np.unique(codes, axis=1, return_inverse=True)
    kinds = kinds.reshape(-1)
    distances = compute_distances(snapshot, pod)[rejected]
    against = (combinations != 0).sum(axis=0)
    nearest = np.full(combinations.shape[1], np.inf)
    np.minimum.at(nearest, kinds, distances)
    for kind in np.lexsort((nearest, against))[:MOST_VERDICTS].tolist():
        members = np.flatnonzero(kinds == kind)
        statuses = [
            column.verdicts[int(code)].with_plugin(column.plugin)
            for column, code in zip(columns, combinations[:, kind], strict=True)
            if code
        ]
        for member in members[np.argsort(distances[members], kind="stable")][:NODES_OF_VERDICT].tolist():
            yield int(rejected[member]), statuses


def _order_proposals(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals, the smallest first; equal ones keep their order."""
    return sorted(proposals, key=_cost)


def _without_repetitions(changes: Proposal) -> Proposal:
    """Return the changes, each once: two verdicts may ask for the same one."""
    distinct = {
        (change.kind, change.subject, change.path, str(change.before), str(change.after)): change for change in changes
    }
    return tuple(distinct.values())


def _cost(proposal: tuple[Change, ...]) -> float:
    return sum(change.cost for change in proposal)
