"""The scheduling cycle: from a pod and a snapshot to a node, or to the reasons why there is none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.claims import create_claims, delete_claims
from kschedweb.engine.cycle.binding import BindingCycle, BindingRefusal
from kschedweb.engine.cycle.composite_search import CompositeSearch
from kschedweb.engine.cycle.explanations import fill_explanation
from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.group_search import GroupRules, GroupSearch
from kschedweb.engine.cycle.node_search import NodeSearch
from kschedweb.engine.cycle.placement import NO_NODES, FitFailure, Placement
from kschedweb.engine.cycle.search_request import NODE_ONLY, WITH_POST_FILTER, SearchRequest
from kschedweb.engine.cycle.signature_plans import SignaturePlans
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.decision import UNTIMED, Decision, Stopwatch
from kschedweb.engine.framework.diagnosis import EXTENDER, NO_REASON, Diagnosis
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.groups import Assignment
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle, PostFilterResult
from kschedweb.engine.framework.runtime import Framework, PreFilterOutcome
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, OutsideError, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.devices.needs import release_claims
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.snapshot import Snapshot


class Scheduler:
    """kube-scheduler over a snapshot.

    ``explain`` changes nothing; ``schedule_pods`` and ``bind_pod`` change the snapshot.
    """

    extenders_class: ClassVar[type[Extenders]] = Extenders
    # True if earlier searches decide which of several equal nodes is chosen.
    takes_turns: ClassVar[bool] = False

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        registry: Mapping[str, PluginFactory] | None = None,
        *,
        nominator: Nominator | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.configuration = configuration
        factories = configuration.release.factories if registry is None else registry
        self._frameworks = self._build_frameworks(factories)
        self._resizing = {}
        # Profiles for the resize of a running pod: without plugins that say nothing about resizes.
        if configuration.release.has_resize_preemption:
            silent = configuration.release.silent_about_resizes
            spoken = (profile.without_plugins(silent) for profile in configuration.profiles)
            self._resizing = {profile.scheduler_name: Framework(profile, factories) for profile in spoken}
        waiting = (pod for pod in snapshot.pending if pod.scheduler_name in self._frameworks)
        self.nominator = Nominator.from_pods(waiting) if nominator is None else nominator
        self.extenders = self.extenders_class(configuration.extenders) if extenders is None else extenders
        self._start = 0
        self._plans = SignaturePlans(snapshot)

    @staticmethod
    def from_configuration(
        snapshot: Snapshot,
        configuration: Configuration,
        registry: Mapping[str, PluginFactory] | None = None,
        *,
        nominator: Nominator | None = None,
        extenders: Extenders | None = None,
    ) -> Scheduler:
        """Create the scheduler of the configuration's release; ``snapshot`` is of the kind that it uses."""
        kind: Callable[..., Scheduler] = configuration.release.scheduler or Scheduler
        return kind(snapshot, configuration, registry, nominator=nominator, extenders=extenders)

    def _build_frameworks(self, registry: Mapping[str, PluginFactory]) -> dict[str, Framework]:
        return {profile.scheduler_name: Framework(profile, registry) for profile in self.configuration.profiles}

    @property
    def frameworks(self) -> Mapping[str, Framework]:
        """The profiles' frameworks by scheduler name, in the order of the configuration."""
        return self._frameworks

    @property
    def start(self) -> int:
        """The position of the node at which the next search begins; shared by all profiles."""
        return self._start

    def advance_start(self, step: int) -> None:
        """Let the next search begin ``step`` nodes later, as if other searches had come before it."""
        self._start = (self._start + step) % max(len(self.snapshot), 1)

    def use_snapshot(self, snapshot: Snapshot) -> None:
        """Continue on another snapshot of the cluster, whose nodes have changed."""
        if snapshot is not self.snapshot:
            self.snapshot, self._plans = snapshot, self._plans.for_snapshot(snapshot)

    def framework(self, pod: Pod) -> Framework:
        """Return the framework that schedules ``pod``; raises CycleError if no profile has its scheduler name."""
        try:
            return (self._resizing if self._is_resizing(pod) else self._frameworks)[pod.scheduler_name]
        except KeyError:
            raise CycleError(f'profile not found for scheduler name "{pod.scheduler_name}"') from None

    def _is_resizing(self, pod: Pod) -> bool:
        """Return whether the cycle only looks for room for the pod's resize, on the pod's own node."""
        return bool(self._resizing) and pod.resize_deferred

    def explain(
        self, pod: Pod, *, preemption: bool = False, thorough: bool = True, as_scheduled: bool = False
    ) -> Explanation:
        """Return every filter's verdict and every score on every node.

        A bound pod is explained as if it were not bound, unless room for its resize is looked for. If the pod fits
        nowhere, ``preemption`` looks for victims: with ``thorough`` on every node where evictions could help, otherwise
        until there are as many candidates as kube-scheduler looks for.

        Raises CycleError if the cycle itself fails, as kube-scheduler's would. kube-scheduler does not score a single
        feasible node: an error there is raised too, as the recorded answers do, unless ``as_scheduled``.
        """
        framework, snapshot = self.framework(pod), self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot, pod = (
                (snapshot, snapshot.get_pod(pod.key)) if self._is_resizing(pod) else snapshot.without_pod(pod.key)
            )
        pre_enqueue_status = framework.pre_enqueue(pod, snapshot.objects)
        explanation = Explanation(pod.key, pod.scheduler_name, snapshot.names, pre_enqueue=pre_enqueue_status)
        if not len(snapshot):
            explanation.message = NO_NODES
            return explanation
        cycle = Cycle(snapshot, pod)
        outcome = framework.pre_filter(cycle)
        handle = self._create_handle(framework, outcome, thorough=thorough, explains=True)
        fill_explanation(
            explanation, cycle, outcome, handle, self.extenders, preemption=preemption, as_scheduled=as_scheduled
        )
        return explanation

    def place_pod(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        """Find a node for ``pod`` and bind it, as ``schedule_one`` does when no plugin has to permit it."""
        placement = self.find(pod, request)
        return self.bind_found(pod, placement) if placement.node else placement

    def bind_found(self, pod: Pod, placement: Placement) -> Placement:
        """Bind ``pod`` to the node that ``find`` found; return the placement, or why it is not bound."""
        self.nominator.delete_nominated_pod(pod.key)
        refusal = self.bind_pod(pod, placement.node)
        return placement if refusal is None else refusal.to_placement(pod.key)

    def bind_pod(self, pod: Pod, node: str) -> BindingRefusal | None:
        """Put ``pod`` on ``node`` in the snapshot, with the volumes and devices that its claims get there.

        Run Reserve, PreBind and Bind, but no Permit and no binding extender. Return why the pod is not there, or None.
        """
        # Most pods concern no plugin beyond the filters, and take this short way.
        if not self.framework(pod).concerns(pod):
            self.snapshot.place_pod(pod, node)
            return None
        binding = self._create_simple_binding(pod, node)
        return binding.assume_and_reserve() or binding.run_binding()

    def reserve_pod(self, pod: Pod, node: str) -> BindingRefusal | None:
        """Put ``pod`` on ``node`` with Reserve only; return why it is not there, or None."""
        return self._create_simple_binding(pod, node).assume_and_reserve()

    def reserve_group(self, pods: Sequence[Pod], assignments: Iterable[Assignment]) -> None:
        """Put some ``pods`` of a group on the nodes found for them, where they stay while the others are tried."""
        self.snapshot.resource_claims.sharing = frozenset(pod.uid for pod in pods)
        for pod, node in assignments:
            self.reserve_pod(pod, node)

    def place_new(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        """Place a new pod as ``place_pod`` does, after controllers have created its claims."""
        return self.place_pod(self.create_claims(pod)[0], request)

    def create_claims(self, pod: Pod) -> tuple[Pod, list[str]]:
        """Let controllers create the pod's claims; return the pod with them in its status, and what is wrong."""
        return create_claims(pod, self.snapshot.objects, self.snapshot.resource_claims)

    def evict_pod(self, key: str) -> Pod:
        """Take an evicted pod off its node and return it without a node.

        Its resource claims are released, and the claims that were generated for it are deleted.
        """
        pod = self.snapshot.remove_pod(key).on("")
        self._release_claims(pod)
        return pod

    @contextmanager
    def without_pod(self, key: str, *, keep_generated_claims: bool = False) -> Iterator[Pod]:
        """Remove a bound pod for the duration of a context, as ``evict_pod`` does; yield it without a node.

        Its claims, with their volumes and devices, are restored afterwards. With ``keep_generated_claims`` the claims
        that controllers generated for the pod are released but kept.
        """
        restore_claims = self.snapshot.save_claims(self.snapshot.get_pod(key))
        with self.snapshot.pod_removed(key) as pod:
            if keep_generated_claims:
                release_claims(self.snapshot.resource_claims, pod)
            else:
                self._release_claims(pod)
            try:
                yield pod.on("")
            finally:
                restore_claims()

    def _release_claims(self, pod: Pod) -> None:
        release_claims(self.snapshot.resource_claims, pod)
        delete_claims(pod, self.snapshot.objects, self.snapshot.resource_claims)

    def _create_simple_binding(self, pod: Pod, node: str) -> BindingCycle:
        return BindingCycle(self.framework(pod), Cycle(self.snapshot, pod), node)

    def schedule_pods(self, pods: Iterable[Pod], request: SearchRequest = NODE_ONLY) -> list[Placement]:
        """Place pods one after the other, each seeing those before it, as kube-scheduler does with parallelism 1."""
        return [self.schedule_one(pod, request) for pod in pods]

    def schedule_one(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        """Run the whole cycle for ``pod`` and put it on the node found.

        If there is none and the request says ``preempt``, victims are evicted at once and the pod is tried again.
        """
        placement = self.find(pod, request)
        if not placement.node:
            return placement
        self.nominator.delete_nominated_pod(pod.key)
        return self._bind_or_refuse(pod, placement, request.watch)

    def find_group(
        self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest = WITH_POST_FILTER
    ) -> GroupPlacement:
        """Run the cycle of ``group``: its ``pods`` without a node, at least one, are tried in that order.

        Of a composite group they are those of all groups below it; each group's are tried in that order.

        The snapshot is left as it was; ``create_binding`` puts the pods on the nodes found. If the group finds no place
        and the request says ``post_filter``, victims are looked for.
        """
        return self._create_group_search(group, pods, request).find_placement()

    def refuse_group(self, group: PodGroup, pods: Sequence[Pod]) -> GroupPlacement | None:
        """Return the result of ``pods`` that cannot be a group, or a tree of groups; ``None`` if they can.

        ``find_group`` asks this too. kube-scheduler asks before it leaves out the pods that are being deleted.
        """
        return self._create_group_search(group, pods, WITH_POST_FILTER).refuse_invalid()

    def _create_group_search(self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest) -> GroupSearch:
        rules = self._group_rules(pods[0])
        if group.is_composite:
            tree = self.snapshot.objects.groups.build_tree(group, pods)
            return CompositeSearch(self, group, pods, request, rules, tree=tree)
        return GroupSearch(self, group, pods, request, rules)

    def _group_rules(self, pod: Pod) -> GroupRules:
        release = self.configuration.release
        profile = self.configuration.find_profile(pod.scheduler_name)
        percentage = None if profile is None else profile.percentage_of_placements_to_score
        if percentage is None:
            percentage = self.configuration.percentage_of_placements_to_score
        return GroupRules(release.has_topology_scheduling, release.behaviour.pod_group_hierarchies, percentage)

    def schedule_group(
        self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest = NODE_ONLY
    ) -> GroupPlacement:
        """Run the cycle of ``group`` and put its pods on the nodes found, unless it is kept out of the queue.

        If there are none and the request says ``preempt``, victims are evicted at once and the group is tried again.
        """
        if not (pre_enqueue_status := self._run_pre_enqueue(pods)).ok:
            return GroupPlacement.from_refusal(group, pods, pre_enqueue_status)
        group_placement = self.find_group(
            group, pods, replace(request, post_filter=request.post_filter or request.preempt)
        )
        if request.preempt and group_placement.victims:
            for victim in group_placement.victims:
                self.evict_pod(victim)
            for node in group_placement.cleared_nodes:
                self.nominator.clear_below(group.priority, node)
            group_placement = replace(self.find_group(group, pods, request), room=group_placement.room)
        placements = tuple(
            self.bind_found(pod, placement) if placement.node else placement
            for pod, placement in zip(pods, group_placement.placements, strict=True)
        )
        return replace(group_placement, placements=placements)

    def explain_group(
        self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest = WITH_POST_FILTER
    ) -> GroupPlacement:
        """Return the result that a cycle of ``group`` would have now, and what keeps it out of the queue."""
        # On copies, so that nothing changes.
        trial_scheduler = self.with_snapshot(self.snapshot.copy())
        trial_scheduler.nominator = self.nominator.copy()
        return replace(
            trial_scheduler.find_group(group, pods, request), pre_enqueue_status=trial_scheduler._run_pre_enqueue(pods)
        )

    def _run_pre_enqueue(self, pods: Sequence[Pod]) -> Status:
        """Return why one of ``pods`` may not enter the queue; success if all may."""
        objects = self.snapshot.objects
        with objects.groups.with_members(pods):
            statuses = (self.framework(pod).pre_enqueue(pod, objects) for pod in pods)
            return next((status for status in statuses if not status.ok), SUCCESS)

    def with_snapshot(self, snapshot: Snapshot) -> Scheduler:
        """Return the same scheduler over another snapshot, a copy on which something is tried."""
        other = copy.copy(self)
        other.snapshot, other._plans = snapshot, SignaturePlans(snapshot)
        return other

    def follow(self, other: Scheduler) -> None:
        """Let the next search begin where it would after the searches of ``other``."""
        self._start = other._start

    def find(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        """Run the cycle of ``schedule_one`` without putting the pod on the node; ``create_binding`` does that."""
        request.watch.start()
        if not request.watch.by_plugin or pod.scheduler_name not in self._frameworks:
            return self._find_placement(pod, request)
        with self.framework(pod).measured_by(request.watch):
            return self._find_placement(pod, request)

    def _find_placement(self, pod: Pod, request: SearchRequest) -> Placement:
        try:
            placement = self._schedule_pod(pod, request)
            if isinstance(placement, FitFailure):
                placement = self._make_room(placement, request)
        except OutsideError as unknown:
            # It is unknown if the pod fits, so it waits for what its plugin waits for.
            return Placement(pod.key, message=str(unknown), rejected_by=frozenset({unknown.plugin}))
        except CycleError as error:
            return Placement(pod.key, message=str(error))
        return placement

    def _make_room(self, failed: FitFailure, request: SearchRequest) -> Placement:
        pod = failed.cycle.pod
        if not (request.preempt or request.post_filter):
            return failed.placement()
        result = _post_filter(failed, request.watch)
        victims = tuple(victim.key for victim in result.victims)
        # Taken now, because the next try changes the columns of the diagnosis.
        refused = failed.placement()
        if request.preempt and victims:
            for victim in victims:
                self.evict_pod(victim)
            self.nominator.clear_below(pod.priority, result.nominated or "")
            # The message must say why the pod did not fit, not what failed after the evictions.
            with suppress(CycleError):
                retried_placement = self._schedule_pod(pod, replace(request, start=None))
                if isinstance(retried_placement, Placement) and retried_placement.node:
                    return replace(retried_placement, victims=victims)
            victims = ()
        post_filter_message = result.status.message
        return replace(
            refused, victims=victims, post_filter=post_filter_message, nominated=result.nominated, frees=result.frees
        )

    def _bind_or_refuse(self, pod: Pod, placement: Placement, watch: Stopwatch) -> Placement:
        """Bind the pod at once, or return who refused; a Permit wait ends in its timeout, as nobody can allow the
        pod."""
        framework = self.framework(pod)
        if not (framework.points.permit or framework.concerns(pod) or self.extenders) and watch is UNTIMED:
            # Most pods concern no plugin beyond the filters, and take this short way.
            self.snapshot.place_pod(pod, placement.node)
            return placement
        binding = self.create_binding(pod, placement.node, placement.to_decision(pod, self.snapshot.now), watch)
        refusal = binding.reserve_and_permit()
        while refusal is None and binding.waits:
            refusal = binding.time_out()
        if refusal is None:
            refusal = binding.run_binding()
        if refusal is None:
            return placement
        return refusal.to_placement(pod.key)

    def create_binding(
        self, pod: Pod, node: str, decision: Decision | None = None, watch: Stopwatch = UNTIMED
    ) -> BindingCycle:
        """Create the binding of ``pod`` to ``node``, to be run step by step; Permit plugins may read the
        ``decision``."""
        cycle = Cycle(self.snapshot, pod, decision=decision)
        return BindingCycle(self.framework(pod), cycle, node, self.extenders.bind, watch)

    def find_misfit_reason(self, pod: Pod, node: str) -> str:
        """Return why ``pod``, which is on no node, cannot go to ``node`` now; "" if it can."""
        try:
            status = self.verdict(pod, node)
        except CycleError as error:
            return str(error)
        return "" if status.ok else status.message or EXTENDER

    def verdict(self, pod: Pod, node: str) -> Status:
        """Return the verdict of filters and extenders on placing the unbound ``pod`` on ``node``. Raises CycleError."""
        position = self.snapshot.index.get(node)
        if position is None:
            return unresolvable(f'node "{node}" not found')
        framework, cycle = self.framework(pod), Cycle(self.snapshot, pod)
        outcome = framework.pre_filter(cycle)
        if not outcome.status.ok:
            return outcome.status
        if outcome.nodes is not None and node not in outcome.nodes:
            return outcome.absent_status().with_plugin(min(outcome.narrowed_by, default=""))
        if not (status := self._create_handle(framework, outcome).fits(cycle, position)).ok:
            return status
        passed = self.extenders.filter(cycle, np.array([position], dtype=np.intp))
        return SUCCESS if passed.rows.size else passed.statuses.get(node, NO_REASON)

    def _schedule_pod(self, pod: Pod, request: SearchRequest) -> Placement | FitFailure:
        framework, snapshot = self.framework(pod), self.snapshot
        if not len(snapshot):
            return Placement(pod.key, message=NO_NODES)
        plan = self._plans.get(framework, pod)
        cycle = plan.create_cycle(pod)
        outcome = plan.pre_filter(cycle)
        request.watch.lap("PreFilter", outcome.status.code)
        handle = self._create_handle(framework, outcome, elsewhere=request.elsewhere)
        if outcome.status.code is Code.ERROR:
            return Placement(pod.key, message=outcome.status.message)
        if not outcome.status.ok:
            number = None if request.allowed_nodes is None else len(request.allowed_nodes)
            diagnosis = Diagnosis.of_pre_filter(snapshot.names, snapshot.index, outcome.status, number)
            return FitFailure(cycle, diagnosis, handle, tuple(outcome.narrowed_by))
        start = self._start if request.start is None else request.start
        percentage = self.configuration.percentage_of_nodes_to_score
        attempt = NodeSearch(plan, cycle, outcome, handle, self.extenders, request, start, percentage)
        try:
            return attempt.schedule_pod()
        finally:
            self._start = attempt.start

    def _create_handle(self, framework: Framework, outcome: PreFilterOutcome, **options: bool) -> CycleHandle:
        return CycleHandle(framework, outcome.skipped, self.nominator, self.extenders, **options)


def _post_filter(failed: FitFailure, watch: Stopwatch) -> PostFilterResult:
    with watch.failing("PostFilter"):
        result = failed.post_filter()
    if failed.handle.framework.points.post_filter:
        watch.lap("PostFilter", result.status.code)
    return result
