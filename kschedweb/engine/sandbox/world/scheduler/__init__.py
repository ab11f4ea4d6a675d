"""The sandbox's own kube-scheduler: the engine's live loop, and the requests that it writes."""

from kschedweb.engine.sandbox.world.scheduler.configuration import LoadedConfiguration, load_configuration
from kschedweb.engine.sandbox.world.scheduler.stock import StockScheduler
from kschedweb.engine.sandbox.world.scheduler.writes import Write

__all__ = ["LoadedConfiguration", "StockScheduler", "Write", "load_configuration"]
