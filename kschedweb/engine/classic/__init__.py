"""kube-scheduler 1.13 (and 1.9) as a library: predicates, priorities and the v1 Policy, on the same columns."""

from kschedweb.engine.classic.algorithm import Algorithm, PolicyError, Registry
from kschedweb.engine.classic.catalogue import Edition
from kschedweb.engine.classic.explanation import ClassicExplanation
from kschedweb.engine.classic.objects import in_zones_of_then
from kschedweb.engine.classic.policy import LoadedPolicy, Policy, from_config_map, load_policy
from kschedweb.engine.classic.process import edition_of, process_of
from kschedweb.engine.classic.scheduler import ClassicScheduler
from kschedweb.engine.classic.snapshot import ClassicSnapshot

__all__ = [
    "Algorithm",
    "ClassicExplanation",
    "ClassicScheduler",
    "ClassicSnapshot",
    "Edition",
    "LoadedPolicy",
    "Policy",
    "PolicyError",
    "Registry",
    "edition_of",
    "from_config_map",
    "in_zones_of_then",
    "load_policy",
    "process_of",
]
