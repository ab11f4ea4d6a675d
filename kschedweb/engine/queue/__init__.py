"""kube-scheduler's scheduling queue on a clock that is passed in."""

from kschedweb.engine.queue.group_queue import GroupQueue, QueuedGroup
from kschedweb.engine.queue.making import queue_of
from kschedweb.engine.queue.queued_pods import QueuedPod
from kschedweb.engine.queue.scheduling_queue import SchedulingQueue
from kschedweb.engine.queue.timing import QueueTiming

__all__ = ["GroupQueue", "QueueTiming", "QueuedGroup", "QueuedPod", "SchedulingQueue", "queue_of"]
