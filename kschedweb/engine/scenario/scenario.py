"""A cluster described in JSON, its pending pods, and the configuration that schedules them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from kschedweb.engine.config import EMPTY, Configuration, Release
from kschedweb.engine.controllers.admission import CLASS_KINDS, AdmissionError, apply_classes
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import NODE_ONLY, WITH_PREEMPTION, SearchRequest
from kschedweb.engine.extenders.extender import Extenders, Post
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.api_conversion import upgrade_object
from kschedweb.engine.objects.json_access import ObjectError, describe_object, get_number
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.objects.resources import COUNTING, Counting
from kschedweb.engine.refusals import find_refusals
from kschedweb.engine.releases import ReleaseError, get_release, load
from kschedweb.engine.scenario.reading import (
    MODE_SEQUENCE,
    ScenarioError,
    read_list,
    read_mode,
    read_name,
    read_preempt,
    read_text,
)
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.snapshot import ON_UNKNOWN_NODE, Snapshot
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass

DRY_RUN_REQUEST = SearchRequest(
    post_filter=True, elsewhere=True
)  # what PostFilter wants done is not done in the snapshot
Cluster = TypeVar("Cluster", bound=Snapshot)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster, its pending pods, and a configuration. It runs once, because running it changes ``snapshot``."""

    name: str
    configuration: Configuration
    snapshot: Snapshot
    pending: list[Pod]
    # MODE_EACH or MODE_SEQUENCE.
    mode: str
    # ``schedule`` evicts pods.
    preempt: bool = False
    # Objects that an API server would have refused, and whether another release was asked for.
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> Scenario:
        """Read one scenario. Raises ScenarioError."""
        return cls.from_json(read_text(text))

    @classmethod
    def from_json(cls, raw: Json) -> Scenario:
        """Read a scenario that is not for the classic scheduler. Raises ScenarioError."""
        name = read_name(raw)
        try:
            if raw.get("classic"):
                raise ScenarioError("classic: is for the classic scheduler")
            configuration = _load_configuration(raw)
            raw, unclassed = _apply_classes(raw)
            snapshot = read_snapshot(Snapshot, raw, counting=configuration.release.counting)
            pending, remarks = (
                read_pending(raw, snapshot),
                remarks_on(raw) + unclassed + _read_watermarks(raw, snapshot),
            )
            if configuration.release.has_resize_preemption:
                _place_running(pending, snapshot)
            remarks = (*filter(None, [configuration.release.remark]), *remarks)
            remarks = tuple(f"{name}: {remark}" if name else remark for remark in remarks)
            return cls(name, configuration, snapshot, pending, read_mode(raw), read_preempt(raw), remarks)
        except ScenarioError as error:
            raise ScenarioError(f"{name}: {error}" if name else str(error)) from None

    @property
    def extenders(self) -> tuple[Json, ...]:
        """The extenders of its configuration."""
        return self.configuration.extenders

    @property
    def engine(self) -> str:
        """The version of kschedweb, and the kube-scheduler that it stands for."""
        return self.configuration.release.engine

    @property
    def _search_request(self) -> SearchRequest:
        return WITH_PREEMPTION if self.preempt else NODE_ONLY

    def create_scheduler(self, post: Post | None) -> Scheduler:
        """Return the scheduler of this cluster, with extenders that ``post`` reaches."""
        extenders = Extenders(self.configuration.extenders, post)
        return Scheduler(self.snapshot, self.configuration, extenders=extenders)

    def explain(self, mode: str | None = None, post: Post | None = None) -> Json:
        """Return the verdicts and scores for each pending pod, in the form of the conformance files.

        Without ``post`` they are those of the plugins alone, and each pod lists the extenders that were left out. A
        group is explained when the first of its pods would be, and its pods follow at once; in sequence they stay on
        their nodes only if the group is placed. For a pod of another scheduler ``handledBy`` names that scheduler.
        Scheduling gates are ignored, as in the reference: a caller that names a pod wants to know how it would fare.
        Raises ScenarioError if the cycle of a pod fails.
        """
        scheduler, sequence = self.create_scheduler(post), (mode or self.mode) == MODE_SEQUENCE
        explanations: dict[str, Json] = {}
        groups = []
        for group, pods in self._iterate_turns():
            active_scheduler = scheduler
            if group is not None:
                result = scheduler.explain_group(group, pods)
                groups.append(result.to_dict())
                if sequence and not (result.placed and result.pre_enqueue_status.ok):
                    # A group that is not placed must leave no trace: its pods are explained on a copy.
                    active_scheduler = scheduler.with_snapshot(self.snapshot.copy())
            for pod in pods:
                with self._name_pod_in_errors(pod):
                    explanation = active_scheduler.explain(pod, preemption=True)
                explanations[pod.key] = explanation.to_dict()
                if sequence and explanation.chosen is not None:
                    active_scheduler.snapshot.place_pod(pod, explanation.nodes[explanation.chosen])
        order = self.snapshot.names if explanations and self.snapshot.names else None
        return {"name": self.name, "nodeOrder": order, **self._build_answers("pods", explanations, groups)}

    def schedule(self, post: Post | None = None) -> Json:
        """Return the placements of the pending pods, one after the other; ``post`` lets extenders be asked.

        Each pod is assumed on its node, which is as far as the reference goes: nothing is reserved or bound. A group is
        tried when the first of its pods would be.
        """
        scheduler, request = self.create_scheduler(post), self._search_request
        placements: dict[str, Json] = {}
        groups = []
        for group, pods in self._iterate_turns():
            if group is None:
                placements |= {pod.key: self._assume_pod(scheduler, pod).to_dict() for pod in pods}
            else:
                result = scheduler.schedule_group(group, pods, request)
                placements |= {placement.pod: placement.to_dict() for placement in result.placements}
                groups.append(result.to_dict())
        return {"name": self.name, **self._build_answers("placements", placements, groups)}

    def describe_conditions(self, post: Post | None = None) -> Json:
        """Return the node of each pending pod, or the whole message of its condition and its nominated node.

        All pods are tried on the same cluster, those of a group together. Raises ScenarioError if the cycle of a pod
        fails.
        """
        scheduler = self.create_scheduler(post)
        conditions: dict[str, Json] = {}
        for group, pods in self._iterate_turns():
            if group is None:
                for pod in pods:
                    with self._name_pod_in_errors(pod):
                        conditions[pod.key] = scheduler.find(pod, DRY_RUN_REQUEST).to_condition()
            else:
                # A group's pods are assumed one after the other, which must not show in the answers about other pods.
                group_scheduler = scheduler.with_snapshot(self.snapshot.copy())
                group_scheduler.nominator = scheduler.nominator.copy()
                result = group_scheduler.schedule_group(group, pods, DRY_RUN_REQUEST)
                conditions |= {placement.pod: placement.to_condition() for placement in result.placements}
        return {"name": self.name, **self._build_answers("pods", conditions)}

    def _iterate_turns(self) -> Iterator[tuple[PodGroup | None, list[Pod]]]:
        """Yield each pod alone. Where groups are scheduled as such, yield each group with its pods in place of the
        first.

        Pods of other schedulers are left out, as kube-scheduler does not queue them.
        """
        groups: dict[str, tuple[PodGroup, list[Pod]]] = {}
        roots: dict[str, PodGroup] = {}
        handled_pods = [pod for pod in self.pending if self._is_responsible(pod)]
        for pod in handled_pods if self.configuration.release.has_group_scheduling else ():
            if (root := self._find_root(pod)) is not None:
                roots[pod.key] = root
                groups.setdefault(root.entity, (root, []))[1].append(pod)
        for pod in handled_pods:
            group, pods = groups[roots[pod.key].entity] if pod.key in roots else (None, [pod])
            # The whole group takes the turn of its first pod.
            if pods[0] is pod:
                yield group, pods

    def _find_root(self, pod: Pod) -> PodGroup | None:
        """Return the group with which the pod is tried; ``None`` if it names none or an unknown one."""
        groups = self.snapshot.objects.groups
        composites = self.configuration.release.has_composite_groups
        return groups.find_root(pod.scheduling_group) if composites else groups.group_of(pod)

    def _build_answers(self, key: str, by_pod: Mapping[str, Json], groups: Sequence[Json] = ()) -> Json:
        """Return the answers in the order of the pending pods, and those about their groups if there are any."""
        answers = [
            by_pod[pod.key] if self._is_responsible(pod) else _describe_handled_elsewhere(pod) for pod in self.pending
        ]
        return {key: answers or None, **({"groups": list(groups)} if groups else {})}

    def _is_responsible(self, pod: Pod) -> bool:
        """Return whether a profile has the pod's schedulerName, as ``responsibleForPod`` does."""
        return self.configuration.find_profile(pod.scheduler_name) is not None

    @contextmanager
    def _name_pod_in_errors(self, pod: Pod) -> Iterator[None]:
        """Turn a CycleError within the context into a ScenarioError that names ``pod``."""
        try:
            yield
        except CycleError as error:
            raise ScenarioError(f"{self.name}: Pod {pod.key}: {error}") from None

    def _assume_pod(self, scheduler: Scheduler, pod: Pod) -> Placement:
        placement = scheduler.find(pod, self._search_request)
        # As the original's `AssumePod` fails for a pod that its cache has already.
        if placement.node and pod.key in self.snapshot.pods.slots:
            return Placement(pod.key, message=f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        if placement.node:
            self.snapshot.place_pod(pod, placement.node)
        return placement

    def summary(self, clock: Callable[[], float], post: Post | None = None) -> Json:
        """Return throughput and latency of placing the pending pods; ``clock`` gives seconds. Raises ScenarioError."""
        scheduler = self.create_scheduler(post)
        unasked = [url for pod in self.pending for url in scheduler.extenders.unasked_urls(pod, "filter", "prioritize")]
        if unasked:
            raise ScenarioError(f"{self.name}: config: extender {unasked[0]} would be asked, which was not allowed")
        return measure_placing(clock, self.pending, lambda pod: bool(self._assume_pod(scheduler, pod).node))


def _describe_handled_elsewhere(pod: Pod) -> Json:
    return {"pod": pod.key, "handledBy": pod.scheduler_name, "message": f"Handled by {pod.scheduler_name}"}


def measure_placing(clock: Callable[[], float], pods: list[Pod], place: Callable[[Pod], bool]) -> Json:
    """Return throughput and latency of placing ``pods``.

    ``place`` returns whether a pod found a node; ``clock`` gives seconds.
    """
    scheduled, milliseconds = 0, []
    start = clock()
    for pod in pods:
        before = clock()
        scheduled += place(pod)
        milliseconds.append((clock() - before) * 1000)
    seconds, number = clock() - start, len(milliseconds)
    milliseconds.sort()
    return {
        "Pods": number,
        "Scheduled": scheduled,
        "Failed": number - scheduled,
        "Seconds": seconds,
        "PodsPerSecond": number / seconds if seconds else 0.0,
        "P50": milliseconds[number // 2] if number else 0.0,
        "P99": milliseconds[number * 99 // 100] if number else 0.0,
    }


def _load_configuration(raw: Json) -> Configuration:
    document = raw.get("config")
    loaded = load(EMPTY if document is None else document, read_release(raw))
    if loaded.configuration is None:
        raise ScenarioError(f"config: {'; '.join(loaded.errors)}")
    return loaded.configuration


def read_release(raw: Json) -> Release:
    """Return the release of kube-scheduler that answers. Raises ScenarioError."""
    try:
        return get_release(raw.get("release") or "", raw.get("featureGates") or {}, raw.get("files") or {})
    except ReleaseError as error:
        raise ScenarioError(str(error)) from None


def _read_watermarks(raw: Json, snapshot: Snapshot) -> tuple[str, ...]:
    """Give the snapshot the scenario's utilisation, which takes precedence over annotations of its objects.

    Returns remarks about both.
    """
    doubts = tuple(f"{name}: {reason}" for name, reason in snapshot.doubts)
    listed = raw.get("watermarks")
    if listed is None:
        return doubts
    try:
        read = Watermarks.from_json(listed, snapshot.names)
        if listed.keys() & {"nodes", "workloads", "pods"}:
            snapshot.watermarks = read
        snapshot.now = get_number(listed, "now") or 0.0
    except ObjectError as error:
        raise ScenarioError(f"watermarks: {error}") from None
    unknown = [name for name in listed.get("nodes") or {} if name not in snapshot.index]
    return doubts + tuple(f"watermarks.nodes.{name}: there is no such node" for name in unknown)


def _apply_classes(raw: Json) -> tuple[Json, tuple[str, ...]]:
    """Return the scenario with the values that classes give its pods, and remarks on pods for which that fails."""
    objects, pending = read_list(raw, "objects"), read_list(raw, "pending")
    classes, remarks = ClusterObjects(), []
    for item in objects:
        if isinstance(item, dict) and item.get("kind") in CLASS_KINDS:
            # An unreadable class is no class; the snapshot reports it.
            with suppress(ObjectError):  # the snapshot says so
                classes.add(item)

    def with_class(item: Any) -> Any:
        try:
            return apply_classes(item, classes) if isinstance(item, dict) and item.get("kind") == "Pod" else item
        except AdmissionError as refused:
            remarks.append(f"{refused}: it is taken as it is")
        except ObjectError:
            pass  # the reader of the pod reports it
        return item

    lists = {"objects": [with_class(item) for item in objects], "pending": [with_class(item) for item in pending]}
    return {**raw, **{key: listed for key, listed in lists.items() if raw.get(key) is not None}}, tuple(remarks)


def read_snapshot(
    kind: type[Cluster], raw: Json, *, keep_finished: bool = True, counting: Counting = COUNTING
) -> Cluster:
    """Return the scenario's cluster, in which every pod has a node. Raises ScenarioError."""
    snapshot = kind.from_objects(
        _upgrade_objects(read_list(raw, "objects")), keep_finished=keep_finished, counting=counting
    )
    # kube-scheduler's cache keeps pods of nodes it does not know; they change no decision.
    problems = [problem for problem in snapshot.problems if not problem[1].startswith(ON_UNKNOWN_NODE)]
    if problems:
        raise ScenarioError("objects: {}: {}".format(*problems[0]))
    if snapshot.pending:
        raise ScenarioError(f"objects: Pod {snapshot.pending[0].key}: has no nodeName: list it under pending")
    return snapshot


def _upgrade_objects(objects: list[Any]) -> list[Any]:
    try:
        return [upgrade_object(item) if isinstance(item, dict) else item for item in objects]
    except ObjectError as error:
        raise ScenarioError(f"objects: {error}") from None


def read_pending(raw: Json, snapshot: Snapshot) -> list[Pod]:
    """Return the pending pods. Raises ScenarioError."""
    pods: dict[str, Pod] = {}
    for position, item in enumerate(read_list(raw, "pending")):
        if not isinstance(item, dict) or item.get("kind") != "Pod":
            raise ScenarioError(f"pending[{position}]: must be a Pod, is {describe_object(item)}")
        try:
            pod = Pod.from_json(item).with_counting(snapshot.counting)
        except ObjectError as error:
            raise ScenarioError(f"pending[{position}]: {describe_object(item)}: {error}") from None
        if pod.key in pods or pod.key in snapshot.pods.slots:
            raise ScenarioError(f"pending[{position}]: Pod {pod.key}: is listed twice")
        pods[pod.key] = pod
        snapshot.objects.groups.add_member(pod)
    return list(pods.values())


def _place_running(pending: list[Pod], snapshot: Snapshot) -> None:
    """Put the pods whose resize waits for room on the nodes where they run."""
    for pod in pending:
        if pod.resize_deferred and pod.node_name in snapshot.index:
            snapshot.place_pod(pod, pod.node_name)


def remarks_on(raw: Json) -> tuple[str, ...]:
    """Return the API server's words about objects that it would have refused; the scheduler runs with them all the
    same.
    """
    items = [*read_list(raw, "objects"), *read_list(raw, "pending")]
    return tuple(refusal.text for item in items for refusal in find_refusals(item, read=True))
