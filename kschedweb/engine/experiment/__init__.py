"""Recorded use replayed under any policies, side by side: how evenly the nodes are really used."""

from kschedweb.engine.experiment.replay import ReplayResult, replay
from kschedweb.engine.experiment.workload import Setup, SetupError, Workload
from kschedweb.engine.simulation.recording import Recording, RecordingError

__all__ = ["Recording", "RecordingError", "ReplayResult", "Setup", "SetupError", "Workload", "replay"]
