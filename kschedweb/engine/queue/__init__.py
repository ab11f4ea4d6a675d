"""kube-scheduler's scheduling queue on a clock that is passed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.queue.group_queue import GroupQueue, QueuedGroup
from kschedweb.engine.queue.queued_pods import QueuedPod
from kschedweb.engine.queue.scheduling_queue import SchedulingQueue
from kschedweb.engine.queue.timing import QueueTiming
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.nominator import Nominator

__all__ = ["GroupQueue", "QueueTiming", "QueuedGroup", "QueuedPod", "SchedulingQueue", "create_scheduling_queue"]


def create_scheduling_queue(
    configuration: Configuration, frameworks: Mapping[str, Framework], cluster: ClusterObjects, nominator: Nominator
) -> SchedulingQueue:
    """Create the queue of a configuration: a ``GroupQueue`` in releases that schedule groups of pods."""
    release = configuration.release
    queue: Callable[..., SchedulingQueue] = SchedulingQueue
    if release.has_group_scheduling:
        queue = partial(GroupQueue, composites=release.has_composite_groups)
    return queue(
        frameworks,
        cluster,
        QueueTiming.from_document(configuration.document),
        extenders=bool(configuration.extenders),
        nominator=nominator,
        behaviour=release.behaviour,
    )
