"""kube-scheduler's scheduling queue on a clock that is passed in."""

from kschedweb.engine.queue.groups import GroupQueue, QueuedGroup
from kschedweb.engine.queue.making import queue_of
from kschedweb.engine.queue.pods import QueuedPod
from kschedweb.engine.queue.scheduling import SchedulingQueue
from kschedweb.engine.queue.timing import Timing

__all__ = ["GroupQueue", "QueuedGroup", "QueuedPod", "SchedulingQueue", "Timing", "queue_of"]
