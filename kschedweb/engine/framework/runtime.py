"""The calls of one profile's plugins, point by point, with kube-scheduler's rules on skips, merges and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from kschedweb.engine.config import Profile
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.framework.cached_answers import CachedPreFilters, CachedPreScores
from kschedweb.engine.framework.decision import UNTIMED, Answer, Stopwatch
from kschedweb.engine.framework.diagnosis import NO_REASON, Diagnosis
from kschedweb.engine.framework.events import EVERYTHING, EventHint
from kschedweb.engine.framework.explanation import FilterColumn, ScoreColumn
from kschedweb.engine.framework.groups import (
    Assignment,
    Domain,
    DomainScore,
    GroupCycle,
    GroupHandle,
    GroupRoom,
    NormalizePlacementScorePlugin,
    Progress,
    merge_domains,
)
from kschedweb.engine.framework.interface import (
    Cycle,
    EnqueueExtensions,
    FilterPlugin,
    Handle,
    Plugin,
    PluginScope,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    WeighingMargin,
)
from kschedweb.engine.framework.points import Points
from kschedweb.engine.framework.preparation import FreeClaim, Preparation, merge_freed_claims
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status, error, unresolvable, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import ALL, Ints, Rows
from kschedweb.engine.values import dataclass

# Seconds: kube-scheduler's `maxTimeout` of `RunPermitPlugins`.
MAX_PERMIT_WAIT = 15 * 60.0
# The text of `RunPermitPlugins`.
WAITING = "one or more plugins asked to wait and no plugin rejected pod"
Binder = Callable[[Pod, str], bool]


@dataclass(slots=True)
class PreFilterOutcome:
    """The merged result of all PreFilter plugins."""

    status: Status = SUCCESS
    # The only nodes to look at; ``None`` for all nodes.
    nodes: frozenset[str] | None = None
    # Plugins that narrowed the nodes, sorted.
    narrowed_by: list[str] = field(default_factory=list)
    # Plugins whose Filter is skipped.
    skipped: set[str] = field(default_factory=set)

    def absent_status(self, *rejecting_plugins: str) -> Status:
        """Return the status of the nodes that PreFilter excluded.

        ``rejecting_plugins`` rejected the pod's nominated node before.
        """
        if self.nodes is None:
            return NO_REASON
        plugins = sorted({*self.narrowed_by, *rejecting_plugins} - {""})
        return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")


class Framework:
    """The plugins of ``profile``, created by ``registry`` from their arguments."""

    def __init__(self, profile: Profile, registry: Mapping[str, PluginFactory]) -> None:
        self.profile = profile
        self.weights = {ref.name: ref.weight for ref in profile.points.get("score", ())}
        self.placement_weights = {ref.name: ref.weight for ref in profile.points.get("placementScore", ())}
        self._instances: dict[str, Plugin] = {}
        self.points = Points.from_plugins(
            {
                point: [plugin for ref in refs if (plugin := self._create_plugin(ref.name, registry)) is not None]
                for point, refs in profile.points.items()
            }
        )
        asking = self.points.asking.values()
        self._watch = UNTIMED
        self.weighs_margin = any(isinstance(plugin, WeighingMargin) and plugin.weighs_margin for plugin in asking)

    @cached_property
    def _no_pre_filters(self) -> CachedPreFilters:
        return CachedPreFilters(self.points.pre_filter, {})

    @cached_property
    def _no_pre_scores(self) -> CachedPreScores:
        return CachedPreScores(self.points.pre_score, {})

    @contextmanager
    def measured_by(self, watch: Stopwatch) -> Iterator[None]:
        """Measure each call of a plugin with ``watch`` within the context."""
        self._watch = watch
        try:
            yield
        finally:
            self._watch = UNTIMED

    def _run_plugin(self, plugin: Plugin, point: str, method: Callable[..., Answer], *arguments: Any) -> Answer:
        watch = self._watch
        return (
            watch.measure_call(plugin.name, point, partial(method, *arguments))
            if watch.by_plugin
            else method(*arguments)
        )

    def _create_plugin(self, name: str, registry: Mapping[str, PluginFactory]) -> Plugin | None:
        # A plugin at several extension points is one instance, as in the original.
        if name not in self._instances and name in registry:
            self._instances[name] = registry[name](self.profile.args.get(name, {}))
        return self._instances.get(name)

    @property
    def instances(self) -> list[Plugin]:
        """Every plugin of the profile, once."""
        return list(self._instances.values())

    def plugin(self, name: str) -> Any:
        """Return the plugin of that name. Raises KeyError if the profile has none."""
        return self._instances[name]

    def plugin_scope(self, plugin: Plugin, pod: Pod) -> PluginScope:
        """Return how far ``plugin`` looks for pods like ``pod``."""
        scoped = self.points.scoped.get(plugin.name)
        return PluginScope.CLUSTER if scoped is None else scoped.scope(pod)

    def events_to_register(self, plugin: Plugin) -> Iterable[EventHint]:
        """Return the events that may help pods which ``plugin`` rejected."""
        return plugin.events() if isinstance(plugin, EnqueueExtensions) else EVERYTHING

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        """Return whether the pod may enter the queue. The first plugin that refuses decides."""
        for plugin in self.points.pre_enqueue:
            status = plugin.pre_enqueue(pod, cluster)
            if not status.ok:
                return status.with_plugin(plugin.name)
        return SUCCESS

    def pre_filter(self, cycle: Cycle, cached: CachedPreFilters | None = None) -> PreFilterOutcome:
        """Run PreFilter. A plugin that fails ends it with an error status. Plugins in ``cached`` are not asked."""
        checkpoint()
        cached, outcome = cached or self._no_pre_filters, PreFilterOutcome()
        for plugin, result in cached.iter_answers(cycle, outcome.skipped, self._watch):
            status = result.status
            if status.code is Code.SKIP:
                outcome.skipped.add(plugin.name)
            elif status.code is Code.UNRESOLVABLE:
                outcome.status = status.with_plugin(plugin.name)
                return outcome
            # An Unschedulable does not end the loop: a later plugin may turn it into UnschedulableAndUnresolvable.
            elif status.code is Code.UNSCHEDULABLE:
                outcome.status = status.with_plugin(plugin.name)
            elif not status.ok:
                outcome.status = error(f'running PreFilter plugin "{plugin.name}": {status.message}').with_plugin(
                    plugin.name
                )
                return outcome
            elif result.nodes is not None:
                outcome.narrowed_by = sorted([*outcome.narrowed_by, plugin.name])
                outcome.nodes = result.nodes if outcome.nodes is None else outcome.nodes & result.nodes
                # The plugins are named as `PreFilterResult.Merge` leaves them: those that narrowed the nodes, sorted.
                if not outcome.nodes:
                    outcome.status = _unsatisfied_status(outcome.narrowed_by)
                    return outcome
        return outcome

    def ask_pre_filter(self, plugin: PreFilterPlugin, cycle: Cycle) -> PreFilterResult:
        """Return the answer of one PreFilter plugin."""
        return self._run_plugin(plugin, "PreFilter", plugin.pre_filter, cycle)

    def filter(self, cycle: Cycle, skipped: set[str], rows: Rows = ALL) -> list[FilterColumn]:
        """Ask every filter about every node of ``rows``."""
        return [
            FilterColumn.for_skipped_filter(plugin.name, cycle.num_rows(rows))
            if plugin.name in skipped
            else self.ask_filter(plugin, cycle, rows)
            for plugin in self.points.filter
        ]

    def ask_filter(self, plugin: FilterPlugin, cycle: Cycle, rows: Rows) -> FilterColumn:
        """Return one filter's verdicts on ``rows``."""
        checkpoint()
        verdicts = self._run_plugin(plugin, "Filter", plugin.filter, cycle, rows)
        statuses = [
            _success_status(plugin.name),
            *(status.with_plugin(plugin.name) for status in verdicts.statuses[1:]),
        ]
        return FilterColumn(plugin.name, False, verdicts.codes, statuses)

    # What is asked about a group.

    def placement_feasible(self, cycle: GroupCycle, progress: Progress) -> Status:
        """Return whether the group can still be placed; ``Wait`` if that is not known yet."""
        feasibility = SUCCESS
        for plugin in self.points.placement_feasible:
            # A refusal decides at once; a Wait only if no later plugin refuses.
            status = plugin.placement_feasible(cycle, progress)
            if status.code is Code.WAIT:
                feasibility = status.with_plugin(plugin.name)
            elif not status.ok:
                return status.with_plugin(plugin.name)
        return feasibility

    def generate_placements(self, cycle: GroupCycle, parent: Domain) -> tuple[list[Domain], Status]:
        """Return the domains in which the group is tried; without a plugin, ``parent`` alone."""
        if not self.points.placement_generate:
            return [parent], SUCCESS
        merged: list[Domain] = []
        for plugin in self.points.placement_generate:
            domains, status = plugin.generate_placements(cycle, parent)
            if status.ok and not domains:
                status = unschedulable("no feasible placements found")
            if not status.ok:
                return [], status.with_plugin(plugin.name)
            # A plugin that gives back what it was given does not narrow it.
            if domains[0] is not parent:
                merged = merge_domains(merged, domains) if merged else domains
                if not merged:
                    return [], unschedulable("no feasible merged placements found")
        return merged or [parent], SUCCESS

    def score_placements(
        self, cycle: GroupCycle, assigned: Sequence[tuple[Domain, Sequence[Assignment]]]
    ) -> list[DomainScore]:
        """Return the scores of the domains in which the group found a place. Raises CycleError."""
        domain_scores = [DomainScore(domain, {}) for domain, _ in assigned]
        for plugin in self.points.placement_score:
            scores = [plugin.score_placement(cycle, domain, pods) for domain, pods in assigned]
            if isinstance(plugin, NormalizePlacementScorePlugin):
                scores = plugin.normalize_placement_scores(cycle, scores)
            for domain_score, score in zip(domain_scores, scores, strict=True):
                if not 0 <= score <= MAX_NODE_SCORE:
                    raise CycleError(
                        f'applying score defaultWeights on PlacementScore plugins: plugin "{plugin.name}" returns an '
                        f"invalid score {score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
                    )
                domain_score.scores[plugin.name] = score * self.placement_weights[plugin.name]
        return domain_scores

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom:
        """Ask the plugins in turn for room for the group. One that finds room or gives up for good ends the search."""
        reasons: list[str] = []
        by = ""
        frees: Mapping[str, tuple[FreeClaim, ...]] = {}
        for plugin in self.points.pod_group_post_filter:
            room = plugin.pod_group_post_filter(cycle, handle)
            status, frees = room.status.with_plugin(plugin.name), merge_freed_claims(frees, room.frees)
            if status.ok or status.code is Code.UNRESOLVABLE:
                return replace(room, status=status, frees=frees)
            if status.code is not Code.UNSCHEDULABLE:
                message = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
                return GroupRoom(error(message).with_plugin(plugin.name), frees=frees)
            reasons.extend(status.reasons)
            by = by or plugin.name
        return GroupRoom(unschedulable(*reasons).with_plugin(by), frees=frees)

    def move_pod(self, cycle: Cycle, skipped: set[str], pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at position ``node``, or left it."""
        for plugin in self.points.extensions:
            if plugin.name not in skipped:
                (plugin.add_pod if add else plugin.remove_pod)(cycle, pod, node)

    def filter_one(self, cycle: Cycle, skipped: set[str], node: int) -> Status:
        """Return the decisive verdict on the node at position ``node``. The first filter that rejects it ends the
        search.
        """
        rows = np.array([node], dtype=np.intp)
        for plugin in self.points.filter:
            if plugin.name not in skipped:
                verdicts = plugin.filter(cycle, rows)
                if verdicts.codes[0]:
                    status = verdicts.statuses[int(verdicts.codes[0])]
                    return status.with_plugin(plugin.name)
        return SUCCESS

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        """Ask the PostFilter plugins in turn. One that succeeds, fails or gives up for good ends the search."""
        last = PostFilterResult(SUCCESS)
        reasons: list[str] = []
        for plugin in self.points.post_filter:
            result = self._run_plugin(plugin, "PostFilter", plugin.post_filter, cycle, diagnosis, handle)
            status = result.status.with_plugin(plugin.name)
            if status.ok or status.code is Code.UNRESOLVABLE:
                return replace(result, status=status, frees=last.frees + result.frees)
            if not status.is_rejected:
                return PostFilterResult(error(status.message).with_plugin(plugin.name))
            reasons.extend(status.reasons)
            first = last.status.plugin or plugin.name
            last = replace(
                last if result.nominated is None else result,
                status=Status(Code.UNSCHEDULABLE, tuple(reasons), first),
                details=result.details or last.details,
                frees=last.frees + result.frees,
            )
        return last

    def pre_score(self, cycle: Cycle, rows: Rows, cached: CachedPreScores | None = None) -> set[str]:
        """Run PreScore and return the plugins whose Score is skipped. Raises CycleError. ``cached`` as in PreFilter."""
        checkpoint()
        cached, skipped = cached or self._no_pre_scores, set[str]()
        for plugin, status in cached.iter_answers(cycle, skipped, self._watch, rows):
            if status.code is Code.SKIP:
                skipped.add(plugin.name)
            elif not status.ok:
                raise CycleError(f'running PreScore plugin "{plugin.name}": {status.message}')
        return skipped

    def ask_pre_score(self, plugin: PreScorePlugin, cycle: Cycle, rows: Rows) -> Status:
        """Return the answer of one PreScore plugin."""
        return self._run_plugin(plugin, "PreScore", plugin.pre_score, cycle, rows)

    def score(self, cycle: Cycle, rows: Rows, skipped: set[str]) -> list[ScoreColumn]:
        """Return the raw and normalised scores of the feasible nodes ``rows``. Raises CycleError."""
        return [self.ask_score(plugin, cycle, rows) for plugin in self.points.score if plugin.name not in skipped]

    def ask_score(self, plugin: ScorePlugin, cycle: Cycle, rows: Rows) -> ScoreColumn:
        """Return the scores that one plugin gives to ``rows``. Raises CycleError."""
        return self.normalize_scores(plugin, cycle, rows, self.raw_score(plugin, cycle, rows))

    def raw_score(self, plugin: ScorePlugin, cycle: Cycle, rows: Rows) -> Ints:
        """Return the raw scores that one plugin gives to ``rows``. Raises CycleError."""
        checkpoint()
        return self._run_plugin(plugin, "Score", plugin.score, cycle, rows)

    def normalize_scores(self, plugin: ScorePlugin, cycle: Cycle, rows: Rows, raw: Ints) -> ScoreColumn:
        """Return the raw and normalised scores of one plugin. Raises CycleError."""
        scores = raw
        if (normalizing := self.points.normalizing.get(plugin.name)) is not None:
            scores = self._run_plugin(plugin, "ScoreExtensionNormalize", normalizing.normalize_score, cycle, rows, raw)
        if out_of_range(scores):
            first = scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0]
            raise CycleError(
                f'applying score defaultWeights on Score plugins: plugin "{plugin.name}" returns an invalid score '
                f"{first}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
        return ScoreColumn(plugin.name, self.weights[plugin.name], raw, scores)

    def concerns(self, pod: Pod) -> bool:
        """Return whether Reserve, PreBind, Bind or PostBind have anything to do for the pod."""
        return self.points.binds_all or any(plugin.concerns(pod) for plugin in self.points.selective)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        """Run Reserve. If a plugin refuses or fails, all of them must ``unreserve``. Raises CycleError."""
        for plugin in self.points.reserve:
            status = self._run_plugin(plugin, "Reserve", plugin.reserve, cycle, node)
            if not status.ok:
                return _check_rejected("Reserve", plugin.name, status)
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        """Give back what Reserve claimed, in reverse order."""
        for plugin in reversed(self.points.reserve):
            plugin.unreserve(cycle, node)

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, dict[str, float]]:
        """Run Permit. With status Wait, return how long, in seconds, each plugin waits. Raises CycleError."""
        waits: dict[str, float] = {}
        for plugin in self.points.permit:
            status, timeout = self._run_plugin(plugin, "Permit", plugin.permit, cycle, node)
            if status.code is Code.WAIT:
                # People may take days to answer: such a wait is kept outside, too.
                waits[plugin.name] = timeout if plugin.name in self.points.asking else min(timeout, MAX_PERMIT_WAIT)
            elif not status.ok:
                return _check_rejected("Permit", plugin.name, status), {}
        return (Status(Code.WAIT, (WAITING,)), waits) if waits else (SUCCESS, {})

    def collect_approval_requests(self, cycle: Cycle, node: str) -> dict[str, Json]:
        """Return the questions that Permit plugins would ask of people before the bind to ``node``, by plugin.

        It changes nothing.
        """
        requests = {name: plugin.ask(cycle, node) for name, plugin in self.points.asking.items()}
        return {name: request for name, request in requests.items() if request is not None}

    def bind(self, cycle: Cycle, node: str, elsewhere: Binder | None = None) -> None:
        """Run PreBind, Bind (the first plugin that does not skip binds) and PostBind. Raises CycleError.

        ``elsewhere`` is asked first; where it returns True it has bound the pod.
        """
        for plugin in self.points.pre_bind:
            status = plugin.pre_bind(cycle, node)
            if not status.ok:
                raise CycleError(f'running PreBind plugin "{plugin.name}": {status.message}')
        bound = elsewhere is not None and elsewhere(cycle.pod, node)
        for binder in () if bound else self.points.bind:
            status = binder.bind(cycle, node)
            if status.code is Code.SKIP:
                continue
            if not status.ok:
                raise CycleError(f'running Bind plugin "{binder.name}": {status.message}')
            break
        self.post_bind(cycle, node)

    def collect_preparations(self, cycle: Cycle, node: str) -> tuple[Preparation, ...]:
        """Run PreBind where others write to the cluster, and return what they have to write. Raises CycleError.

        A plugin that lists its preparations is not called.
        """
        preparations: list[Preparation] = []
        for plugin in self.points.pre_bind:
            if (preparing := self.points.preparing.get(plugin.name)) is not None:
                preparations += preparing.preparations(cycle, node)
                continue
            status = plugin.pre_bind(cycle, node)
            if not status.ok:
                raise CycleError(f'running PreBind plugin "{plugin.name}": {status.message}')
        return tuple(preparations)

    def post_bind(self, cycle: Cycle, node: str) -> None:
        """Run PostBind."""
        for plugin in self.points.post_bind:
            plugin.post_bind(cycle, node)


@cache
def _success_status(plugin: str) -> Status:
    return SUCCESS.with_plugin(plugin)


def out_of_range(scores: Ints) -> bool:
    """Return whether a score is below 0 or above 100."""
    return bool(scores.size) and bool(scores.view(np.uint64).max() > MAX_NODE_SCORE)  # negative ones become large


def _check_rejected(point: str, plugin: str, status: Status) -> Status:
    if not status.is_rejected:
        raise CycleError(f'running {point} plugin "{plugin}": {status.message}')
    return status.with_plugin(plugin)


def _unsatisfied_status(plugins: list[str]) -> Status:
    if len(plugins) == 1:
        return unresolvable(f"node(s) didn't satisfy plugin {plugins[0]}")
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously")
