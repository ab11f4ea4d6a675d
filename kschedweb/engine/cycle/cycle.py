"""The scheduling cycle: from a pod and a snapshot to a node, or to the reasons why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.binding import Binding
from kschedweb.engine.cycle.explaining import explain
from kschedweb.engine.cycle.placement import Placement, Unplaced
from kschedweb.engine.cycle.plan import Once, Plan, Plans, Scored
from kschedweb.engine.cycle.ranking import UNRANKED, Standing, standing
from kschedweb.engine.cycle.search import Filtered, heap_root, highest, lead, positions, search
from kschedweb.engine.extenders.extender import ExtenderError, Extenders, Passed
from kschedweb.engine.framework.decision import Decision, Stopwatch
from kschedweb.engine.framework.diagnosis import EXTENDER, NO_REASON, Diagnosis
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle, PostFilterResult
from kschedweb.engine.framework.runtime import Factory, Framework, PreFilterOutcome
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, OutsideError, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins import registry as in_tree
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.snapshot import Snapshot

NONE = np.zeros(0, dtype=np.intp)
NO_NODES = "no nodes available to schedule pods"
MIN_FEASIBLE, MIN_PERCENTAGE = 100, 5


class Scheduler:
    """kube-scheduler over a snapshot. ``explain`` changes nothing; ``schedule`` and ``bind`` change the snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        registry: Mapping[str, Factory] | None = None,
        *,
        nominator: Nominator | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.configuration = configuration
        self._frameworks = {
            profile.scheduler_name: Framework(profile, registry or in_tree()) for profile in configuration.profiles
        }
        waiting = (pod for pod in snapshot.pending if pod.scheduler_name in self._frameworks)
        self.nominator = Nominator.of(waiting) if nominator is None else nominator
        self.extenders = Extenders(configuration.extenders) if extenders is None else extenders
        self.elsewhere = False  # what PostFilter plugins want done is done in the cluster, by whoever asks
        self.ranks = 0  # how many of the best nodes are told of
        self.draw: Callable[[int], int] | None = None  # which of so many equally good nodes is taken; None: the heap's
        self.also = ""  # a node that is told of beside these where it was scored
        self.watch = Stopwatch()
        self.start = 0  # the position where the next search for feasible nodes begins; shared by all profiles
        self._plans = Plans(snapshot)

    @property
    def frameworks(self) -> Mapping[str, Framework]:
        """The profiles' frameworks by scheduler name, in the order of the configuration."""
        return self._frameworks

    def use(self, snapshot: Snapshot) -> None:
        """Go on with another snapshot of the cluster: its nodes changed."""
        if snapshot is not self.snapshot:
            self.snapshot, self._plans = snapshot, self._plans.on(snapshot)

    def framework(self, pod: Pod) -> Framework:
        """The framework that schedules ``pod``; raises CycleError where no profile has its scheduler name."""
        try:
            return self._frameworks[pod.scheduler_name]
        except KeyError:
            raise CycleError(f'profile not found for scheduler name "{pod.scheduler_name}"') from None

    def explain(self, pod: Pod, *, preemption: bool = False, thorough: bool = True) -> Explanation:
        """Every filter's verdict and every score on every node; a bound pod is explained as if it were not bound.

        ``preemption`` asks also which pods would have to go where the pod fits nowhere: on every node where evictions
        could help if ``thorough``, else only until there are as many candidates as kube-scheduler looks for.
        Raises CycleError where the cycle itself fails, as kube-scheduler's would.
        """
        framework, snapshot = self.framework(pod), self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot, pod = snapshot.without(pod.key)
        held = framework.pre_enqueue(pod, snapshot.objects)
        explanation = Explanation(pod.key, pod.scheduler_name, snapshot.names, pre_enqueue=held)
        if not len(snapshot):
            explanation.message = NO_NODES
            return explanation
        cycle = Cycle(snapshot, pod)
        outcome = framework.pre_filter(cycle)
        handle = self._handle(framework, outcome, thorough=thorough, explains=True)
        explain(explanation, cycle, outcome, handle, self.extenders, preemption=preemption)
        return explanation

    def bind(self, pod: Pod, node: str) -> None:
        """Put ``pod`` on ``node`` in the snapshot."""
        self.snapshot.place_pod(pod, node)

    def schedule(self, pods: Iterable[Pod], *, preempt: bool = False) -> list[Placement]:
        """Place pods one after the other, each seeing those before it, as kube-scheduler does with parallelism 1."""
        return [self.schedule_one(pod, preempt=preempt) for pod in pods]

    def schedule_one(self, pod: Pod, *, preempt: bool = False, post_filter: bool = False) -> Placement:
        """Run the whole cycle for ``pod`` and put it on the node found.

        Where there is none, ``post_filter`` says what could be done, and ``preempt`` has it done: the victims are
        evicted at once and the pod is tried again.
        """
        found = self.find(pod, preempt=preempt, post_filter=post_filter)
        if not found.node:
            return found
        self.nominator.remove(pod.key)
        return self._settle(pod, found)

    def find(self, pod: Pod, *, preempt: bool = False, post_filter: bool = False) -> Placement:
        """As ``schedule_one``, but the pod is not put on the node found: ``binding`` does that."""
        self.watch.start()
        try:
            found = self._place(pod)
            if isinstance(found, Unplaced):
                found = self._make_room(found, preempt, post_filter)
        except OutsideError as unknown:
            # Nobody knows whether it fits: it waits for what its plugin waits for.
            return Placement(pod.key, message=str(unknown), rejected_by=frozenset({unknown.plugin}))
        except CycleError as error:
            return Placement(pod.key, message=str(error))
        return found

    def _make_room(self, failed: Unplaced, preempt: bool, post_filter: bool) -> Placement:
        pod = failed.cycle.pod
        if not (preempt or post_filter):
            return failed.placement()
        result = self._post_filter(failed)
        victims = tuple(victim.key for victim in result.victims)
        refused = failed.placement()  # before what the filters said changes with the next try
        if preempt and victims:
            for victim in victims:
                self.snapshot.remove_pod(victim)
            self.nominator.clear_below(pod.priority, result.nominated or "")
            with suppress(CycleError):  # why the pod did not fit is told, not what came after the evictions
                again = self._place(pod)
                if isinstance(again, Placement) and again.node:
                    return replace(again, victims=victims)
            victims = ()
        said = result.status.message
        return replace(refused, victims=victims, post_filter=said, nominated=result.nominated, frees=result.frees)

    def _post_filter(self, failed: Unplaced) -> PostFilterResult:
        with self.watch.failing("PostFilter"):
            result = failed.post_filter()
        if failed.handle.framework.plugins("postFilter"):
            self.watch.lap("PostFilter", result.status.code)
        return result

    def _settle(self, pod: Pod, placement: Placement) -> Placement:
        """Bind the pod at once, or say who refused; nobody is here to allow what Permit lets wait."""
        binding = self.binding(pod, placement.node, placement.decision(pod, self.snapshot.now))
        refusal = binding.begin()
        while refusal is None and binding.waits:
            refusal = binding.time_out()
        if refusal is None:
            refusal = binding.finish()
        if refusal is None:
            return placement
        return Placement(pod.key, message=refusal.message, rejected_by=refusal.rejected_by)

    def binding(self, pod: Pod, node: str, decision: Decision | None = None) -> Binding:
        """The way of ``pod`` to ``node``, to be gone step by step; Permit plugins may read the ``decision``."""
        cycle = Cycle(self.snapshot, pod, decision=decision)
        return Binding(self.framework(pod), cycle, node, self.extenders.bind, watch=self.watch)

    def misfit(self, pod: Pod, node: str) -> str:
        """Why ``pod``, which is on no node, cannot go to ``node`` as things are now; "" where it can."""
        try:
            status = self.verdict(pod, node)
        except CycleError as error:
            return str(error)
        return "" if status.ok else status.message or EXTENDER

    def verdict(self, pod: Pod, node: str) -> Status:
        """What filters and extenders say to ``pod``, on no node yet, going to ``node`` now. Raises CycleError."""
        position = self.snapshot.index.get(node)
        if position is None:
            return unresolvable(f'node "{node}" not found')
        framework, cycle = self.framework(pod), Cycle(self.snapshot, pod)
        outcome = framework.pre_filter(cycle)
        if not outcome.status.ok:
            return outcome.status
        if outcome.nodes is not None and node not in outcome.nodes:
            return outcome.absent().by(min(outcome.narrowed_by, default=""))
        if not (status := self._handle(framework, outcome).fits(cycle, position)).ok:
            return status
        passed = self.extenders.filter(cycle, np.array([position], dtype=np.intp))
        return SUCCESS if passed.rows.size else passed.statuses.get(node, NO_REASON)

    def _place(self, pod: Pod) -> Placement | Unplaced:
        framework, snapshot = self.framework(pod), self.snapshot
        size = len(snapshot)
        if not size:
            return Placement(pod.key, message=NO_NODES)
        plan = self._plans.get(framework, pod)
        cycle = plan.cycle(pod)
        outcome = plan.pre_filter(cycle)
        self.watch.lap("PreFilter", outcome.status.code)
        handle = self._handle(framework, outcome)
        if outcome.status.code is Code.ERROR:
            return Placement(pod.key, message=outcome.status.message)
        if not outcome.status.ok:
            diagnosis = Diagnosis.of_pre_filter(snapshot.names, snapshot.index, outcome.status)
            return Unplaced(cycle, diagnosis, handle, tuple(outcome.narrowed_by))
        return self._walk(plan, cycle, outcome, handle)

    def _walk(
        self, plan: Plan | Once, cycle: Cycle, outcome: PreFilterOutcome, handle: CycleHandle
    ) -> Placement | Unplaced:
        """Look for the best of the nodes that filters and extenders let pass: first at the nominated one."""
        snapshot, framework, pod = self.snapshot, handle.framework, cycle.pod
        narrowed_by = tuple(outcome.narrowed_by)
        filtered = plan.filter(cycle, outcome).beside(handle.beside_nominated(cycle))
        # This one node is looked at even where PreFilter leaves it out.
        nominated = snapshot.index.get(pod.nominated_node, -1)
        tried = self._try_nominated(cycle, filtered, nominated)
        if tried.rows.size:
            return Placement(pod.key, snapshot.names[int(tried.rows[0])], 1 + len(tried.statuses), 1)
        if outcome.nodes is not None:
            filtered = filtered.within(positions(snapshot, outcome.nodes))
        absent = outcome.absent(*(status.plugin for status in tried.statuses.values()))
        start = self.start
        rejected = nominated if tried.statuses else -1
        found = search(filtered, start, self._wanted(framework, filtered.looked_at), rejected)
        self.watch.lap("Filter", Code.SUCCESS if found.failure is None else Code.ERROR)
        self.start = (start + found.evaluated) % len(snapshot)
        if found.failure is not None:
            raise found.failure.failure
        if self.extenders:
            known = filtered.diagnosis(snapshot, absent, start, found.visited, tried.statuses)
            self.start = (start + len(found.feasible) + known.explicit) % len(snapshot)
            return self._extend(plan, cycle, found.feasible, Unplaced(cycle, known, handle, narrowed_by))
        if not found.feasible.size:
            diagnosis = filtered.diagnosis(snapshot, absent, extra=tried.statuses)
            return Unplaced(cycle, diagnosis, handle, narrowed_by)
        best, told = 0, UNRANKED
        if len(found.feasible) > 1:
            with self.watch.failing("Score"):
                scored = plan.totals(cycle, found.feasible)
            best, drawn = self._pick(scored.totals)
            self.watch.lap("Score")
            told = self._standing(plan, scored, found.feasible, best)._replace(drawn=drawn)
        chosen = snapshot.names[int(found.feasible[best])]
        return Placement(pod.key, chosen, found.evaluated, len(found.feasible), **told._asdict())

    def _pick(self, totals: Ints) -> tuple[int, int]:
        """The position of the node that is taken, and among how many equally good ones it was drawn (0: it was not)."""
        if self.draw is None or len(best := highest(totals)) == 1:
            return heap_root(totals), 0
        return int(best[self.draw(len(best))]), len(best)

    def _standing(
        self, plan: Plan | Once, scored: Scored, rows: NDArray[np.intp], best: int, added: Ints | None = None
    ) -> Standing:
        """What is to be told of the choice of the node at the place ``best`` of ``rows``."""
        if self.ranks:
            also = self.snapshot.index.get(self.also, -1)
            return standing(plan, scored, rows, self.snapshot.names, best, self.ranks, added, also)
        if not plan.framework.weighs_margin:
            return UNRANKED
        return Standing(margin=lead(scored.totals if added is None else scored.totals + added))

    def _extend(
        self, plan: Plan | Once, cycle: Cycle, feasible: NDArray[np.intp], otherwise: Unplaced
    ) -> Placement | Unplaced:
        """The best of the nodes that extenders let pass; ``otherwise`` learns what they said of the others."""
        passed = self.extenders.filter(cycle, feasible)
        otherwise.diagnosis.extra.update(passed.statuses)
        if not passed.rows.size:
            blamed = (EXTENDER,) if feasible.size else ()
            return replace(otherwise, narrowed_by=otherwise.narrowed_by + blamed)
        evaluated = len(passed.rows) + otherwise.diagnosis.explicit
        self.watch.lap(EXTENDER)
        with self.watch.failing("Score"):
            best, told = self._best(plan, cycle, passed)
        self.watch.lap("Score")
        name = cycle.snapshot.names[best]
        return Placement(cycle.pod.key, name, evaluated, len(passed.rows), **told._asdict())

    def _try_nominated(self, cycle: Cycle, filtered: Filtered, nominated: int) -> Passed:
        """The node ``nominated`` (-1: none) where it passes, before any other is looked at; extenders may fail here."""
        if nominated < 0:
            return Passed(NONE)
        name = cycle.snapshot.names[nominated]
        if not filtered.passes(nominated):
            rejects = filtered.rejects(nominated)
            return Passed(NONE, statuses={name: filtered.status(nominated).decisive} if rejects else {})
        try:
            return self.extenders.filter(cycle, np.array([nominated], dtype=np.intp))
        except ExtenderError:
            return Passed(NONE)

    def _best(self, plan: Plan | Once, cycle: Cycle, passed: Passed) -> tuple[int, Standing]:
        """The best of the nodes that extenders let pass, and where it stands among them."""
        if len(passed.rows) == 1:
            return int(passed.rows[0]), UNRANKED
        rows, places = np.unique(passed.rows, return_inverse=True)
        scored = passed.scored_on(cycle)
        if scored is not cycle:
            plan = Once(self.framework(cycle.pod), scored.snapshot)
        found = plan.totals(scored, rows)
        added, spoken = self.extenders.prioritize(cycle, passed)
        ranks = np.unique(found.totals[places] + added, return_inverse=True)[1]
        # Among equals those come first that an extender spoke about; of these kube-scheduler takes any.
        best, drawn = self._pick(2 * ranks.astype(np.int64) + spoken)
        by_row = np.zeros(len(rows), dtype=np.int64)
        by_row[places] = added
        told = self._standing(plan, found, rows, int(places[best]), by_row)
        return int(passed.rows[best]), told._replace(drawn=drawn)

    def _handle(self, framework: Framework, outcome: PreFilterOutcome, **how: bool) -> CycleHandle:
        return CycleHandle(framework, outcome.skipped, self.nominator, self.extenders, elsewhere=self.elsewhere, **how)

    def _wanted(self, framework: Framework, nodes: int) -> int:
        """How many feasible nodes are enough (specification 1.5)."""
        if not (framework.plugins("score") or self.extenders.any("prioritize") or self.extenders.any("filter")):
            return 1
        if nodes < MIN_FEASIBLE:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.configuration.percentage_of_nodes_to_score
        if percentage == 0:
            percentage = max(MIN_PERCENTAGE, 50 - nodes // 125)
        return max(MIN_FEASIBLE, nodes * percentage // 100)
