"""kube-scheduler's scheduling queue on a clock that is passed in."""

from kschedweb.engine.queue.pods import QueuedPod
from kschedweb.engine.queue.scheduling import SchedulingQueue, Timing

__all__ = ["QueuedPod", "SchedulingQueue", "Timing"]
