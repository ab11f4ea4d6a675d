"""The pods that a plan may move, and why the others stay."""

from __future__ import annotations

from collections.abc import Container

from kschedweb.engine.autoscaling.offers.labels import DO_NOT_DISRUPT
from kschedweb.engine.config.decode import decode
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.evictions import EvictionLimits, PodEvictor
from kschedweb.engine.rebalancing.handle import CycleReport, Handle
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.node_fit import Room
from kschedweb.engine.rebalancing.plugins.defaultevictor import ARGS, MIRROR, SOURCE, DefaultEvictor
from kschedweb.engine.rebalancing.pods import PREFER_NO_EVICTION, PodRequests, PodView
from kschedweb.engine.state.owners import has_daemon_set_owner

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DAEMON, STATIC = "belongs to a DaemonSet", "is a static pod"
BARE = "has no controller that would put another in its place"
EVICTION_OPT_OUT = "asks by an annotation not to be evicted"
PROTECTED = "is protected by the rules of the descheduler's DefaultEvictor: local storage, or a critical priority"
GROUPED, DEVICES = "belongs to a pod group, which is placed as one", "has resource claims"
LEAVING, OTHER_SCHEDULER = "is being deleted", "is placed by a scheduler that the policy does not have"
# Pods that exist because of the node itself.
OF_THE_NODE = frozenset({DAEMON, STATIC})


class Evictable:
    """The rules of DefaultEvictor with its defaults, and what a move requires beyond an eviction."""

    def __init__(self, schedulers: Container[str]) -> None:
        self._schedulers = schedulers
        self._spec_by_template: dict[int, PodRequests] = {}
        self._reasons: dict[str, tuple[Pod, str]] = {}
        cluster = DeschedulerCluster([])
        room = Room(cluster)
        handle = Handle("", cluster, room, PodEvictor(cluster, room, EvictionLimits()), Metrics(), CycleReport(), 0.0)
        self._usual = DefaultEvictor(decode(ARGS, {}).value, handle)

    def find_stay_reason(self, pod: Pod) -> str:
        """Return why the pod is not moved, "" if it may be; remembered as long as the pod's object stays the same."""
        cached = self._reasons.get(pod.key)
        if cached is None or cached[0] is not pod:
            cached = self._reasons[pod.key] = pod, self._find_reason(pod)
        return cached[1]

    def _find_reason(self, pod: Pod) -> str:
        view = self._to_view(pod)
        notes = view.annotations
        wishes = notes.get(DO_NOT_DISRUPT) == "true" or notes.get(SAFE_TO_EVICT) == "false"
        applies_by_reason = {
            DAEMON: has_daemon_set_owner(pod),
            STATIC: MIRROR in notes or notes.get(SOURCE, "api") != "api",
            LEAVING: pod.terminating,
            BARE: pod.controller is None,
            EVICTION_OPT_OUT: wishes or PREFER_NO_EVICTION in notes,
            OTHER_SCHEDULER: pod.scheduler_name not in self._schedulers,
            GROUPED: bool(pod.scheduling_group),
            DEVICES: bool(pod.resource_claims),
        }
        why = next((words for words, holds in applies_by_reason.items() if holds), "")
        return why or ("" if self._usual.filter(view) else PROTECTED)

    def _to_view(self, pod: Pod) -> PodView:
        if pod.template not in self._spec_by_template:
            self._spec_by_template[pod.template] = PodRequests(get_mapping(pod.raw, "spec"))
        return PodView(pod, self._spec_by_template[pod.template])
