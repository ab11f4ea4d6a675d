"""Replay recorded use under any policies, side by side: how evenly are the nodes really used?"""

from kschedweb.engine.experiment.replay import ReplayResult, replay_workload
from kschedweb.engine.experiment.workload import ExperimentWorkload, Setup, SetupError
from kschedweb.engine.simulation.recording import RecordingError, UseRecording

__all__ = [
    "ExperimentWorkload",
    "RecordingError",
    "ReplayResult",
    "Setup",
    "SetupError",
    "UseRecording",
    "replay_workload",
]
