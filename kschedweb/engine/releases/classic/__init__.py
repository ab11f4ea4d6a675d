"""kube-scheduler 1.13 and 1.9 as a library: predicates, priorities and the v1 Policy, on the engine's columns."""

from kschedweb.engine.releases.classic.algorithm import Algorithm, PolicyError
from kschedweb.engine.releases.classic.catalogue import Edition
from kschedweb.engine.releases.classic.explanation import ClassicExplanation
from kschedweb.engine.releases.classic.objects import in_zones_of_then
from kschedweb.engine.releases.classic.policy import ClassicPolicy, LoadedPolicy, from_config_map, load_policy
from kschedweb.engine.releases.classic.process import edition_of, process_of
from kschedweb.engine.releases.classic.registry import Registry, classic_release
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot

__all__ = [
    "Algorithm",
    "ClassicExplanation",
    "ClassicPolicy",
    "ClassicScheduler",
    "ClassicSnapshot",
    "Edition",
    "LoadedPolicy",
    "PolicyError",
    "Registry",
    "classic_release",
    "edition_of",
    "from_config_map",
    "in_zones_of_then",
    "load_policy",
    "process_of",
]
