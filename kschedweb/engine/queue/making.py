"""Make the scheduling queue that a configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.queue.group_queue import GroupQueue
from kschedweb.engine.queue.scheduling_queue import SchedulingQueue
from kschedweb.engine.queue.timing import QueueTiming
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.nominator import Nominator


def queue_of(
    configuration: Configuration, frameworks: Mapping[str, Framework], cluster: ClusterObjects, nominator: Nominator
) -> SchedulingQueue:
    """Make a scheduling queue: a ``GroupQueue`` in releases that schedule groups of pods."""
    release = configuration.release
    return (GroupQueue if release.has_group_scheduling else SchedulingQueue)(
        frameworks,
        cluster,
        QueueTiming.from_document(configuration.document),
        extenders=bool(configuration.extenders),
        nominator=nominator,
        behaviour=release.behaviour,
    )
