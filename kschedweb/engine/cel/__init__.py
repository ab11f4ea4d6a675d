"""CEL, the language in which resource claims and device classes select devices, as kube-scheduler evaluates it."""

from kschedweb.engine.cel.device import Attribute, Device, attribute
from kschedweb.engine.cel.environment import ONLY_1_36, SINCE_1_37, UP_TO_1_35, Language
from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.program import Program, compiled
from kschedweb.engine.cel.quantities import Quantity, quantity
from kschedweb.engine.cel.versions import Version, version

__all__ = [
    "ONLY_1_36",
    "SINCE_1_37",
    "UP_TO_1_35",
    "Attribute",
    "Device",
    "EvaluationError",
    "Language",
    "Program",
    "Quantity",
    "Refused",
    "Version",
    "attribute",
    "compiled",
    "quantity",
    "version",
]
