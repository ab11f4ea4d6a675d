"""Which pods a plan may move, and why the others stay."""

from __future__ import annotations

from collections.abc import Container

from kschedweb.engine.autoscaling.offers.labels import DO_NOT_DISRUPT
from kschedweb.engine.config.decode import decode
from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.rebalancing.cluster import Cluster
from kschedweb.engine.rebalancing.evicting import Limits, PodEvictor
from kschedweb.engine.rebalancing.fitting import Room
from kschedweb.engine.rebalancing.handle import Handle, Outcome
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.plugins.defaultevictor import ARGS, MIRROR, SOURCE, DefaultEvictor
from kschedweb.engine.rebalancing.pods import PREFER_NO_EVICTION, Asked, PodView
from kschedweb.engine.state.owners import of_daemon_set

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DAEMON, STATIC = "belongs to a DaemonSet", "is a static pod"
BARE = "has no controller that would put another in its place"
ASKED = "asks by an annotation not to be evicted"
PROTECTED = "is protected by the rules of the descheduler's DefaultEvictor: local storage, or a critical priority"
GROUPED, DEVICES = "belongs to a pod group, which is placed as one", "has resource claims"
LEAVING, OTHERS = "is being deleted", "is placed by a scheduler that the policy does not have"
OF_THE_NODE = frozenset({DAEMON, STATIC})  # pods that are there because of the node itself


class Evictable:
    """The rules: those of DefaultEvictor with its defaults, and what a move asks beyond an eviction."""

    def __init__(self, schedulers: Container[str]) -> None:
        self._schedulers = schedulers
        self._asked: dict[int, Asked] = {}
        self._known: dict[str, tuple[Pod, str]] = {}
        cluster = Cluster([])
        room = Room(cluster)
        handle = Handle("", cluster, room, PodEvictor(cluster, room, Limits()), Metrics(), Outcome(), 0.0)
        self._usual = DefaultEvictor(decode(ARGS, {}).value, handle)

    def stays(self, pod: Pod) -> str:
        """Why the pod is not moved, "" where it may be. It is remembered as long as the pod's object is the same."""
        known = self._known.get(pod.key)
        if known is None or known[0] is not pod:
            known = self._known[pod.key] = pod, self._why(pod)
        return known[1]

    def _why(self, pod: Pod) -> str:
        view = self._view(pod)
        notes = view.annotations
        wishes = notes.get(DO_NOT_DISRUPT) == "true" or notes.get(SAFE_TO_EVICT) == "false"
        found = {
            DAEMON: of_daemon_set(pod),
            STATIC: MIRROR in notes or notes.get(SOURCE, "api") != "api",
            LEAVING: pod.terminating,
            BARE: pod.controller is None,
            ASKED: wishes or PREFER_NO_EVICTION in notes,
            OTHERS: pod.scheduler_name not in self._schedulers,
            GROUPED: bool(pod.scheduling_group),
            DEVICES: bool(pod.resource_claims),
        }
        why = next((words for words, holds in found.items() if holds), "")
        return why or ("" if self._usual.filter(view) else PROTECTED)

    def _view(self, pod: Pod) -> PodView:
        if pod.template not in self._asked:
            self._asked[pod.template] = Asked(mapping(pod.raw, "spec"))
        return PodView(pod, self._asked[pod.template])
