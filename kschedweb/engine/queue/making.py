"""The scheduling queue that a configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.queue.groups import GroupQueue
from kschedweb.engine.queue.scheduling import SchedulingQueue
from kschedweb.engine.queue.timing import Timing
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.nominator import Nominator


def queue_of(
    configuration: Configuration, frameworks: Mapping[str, Framework], cluster: ClusterObjects, nominator: Nominator
) -> SchedulingQueue:
    """A ``GroupQueue`` where groups of pods are scheduled as such."""
    release = configuration.release
    return (GroupQueue if release.groups else SchedulingQueue)(
        frameworks,
        cluster,
        Timing.of(configuration.document),
        extenders=bool(configuration.extenders),
        nominator=nominator,
        behaviour=release.behaviour,
    )
