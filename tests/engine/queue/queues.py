"""Short ways to a scheduling queue."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.config import Release
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.queue import QueuedPod, QueueTiming, SchedulingQueue
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import CONFIGURATION, pod

FIT = "NodeResourcesFit"


def frameworks(
    more: dict[str, PluginFactory] | None = None, release: Release = CURRENT, **profile: Any
) -> dict[str, Framework]:
    """The one profile's framework; ``more`` are plugins beside the in-tree ones."""
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]}
    loaded = load(document, release)
    assert loaded.configuration is not None, loaded.errors
    return {
        profile.scheduler_name: Framework(profile, {**release.factories, **(more or {})})
        for profile in loaded.configuration.profiles
    }


def queue(
    timing: QueueTiming | None = None,
    cluster: ClusterObjects | None = None,
    release: Release = CURRENT,
    more: dict[str, PluginFactory] | None = None,
    **profile: Any,
) -> SchedulingQueue:
    profile_frameworks = frameworks(more, release, **profile)
    return SchedulingQueue(profile_frameworks, cluster or ClusterObjects(), timing, behaviour=release.behaviour)


def make_pod(name: str, **fields: Any) -> Pod:
    return Pod.from_json(pod(name, **fields))


def pop_pod(waiting_in: SchedulingQueue) -> QueuedPod:
    """The next pod, which must be there."""
    queued = waiting_in.pop()
    assert queued is not None
    return queued


def reject_pod(waiting_in: SchedulingQueue, pod_or_name: Pod | str, now: float = 0.0, by: str = FIT) -> QueuedPod:
    """A pod that came, was tried and was rejected, all at ``now``."""
    pod = make_pod(pod_or_name) if isinstance(pod_or_name, str) else pod_or_name
    waiting_in.add(pod, now)
    queued = pop_pod(waiting_in)
    assert queued.key == pod.key
    waiting_in.put_back(queued, now, {by})
    return queued
