"""CEL, the language in which ResourceClaims and DeviceClasses select devices, as kube-scheduler evaluates it."""

from kschedweb.engine.cel.device import Attribute, Device, parse_attribute
from kschedweb.engine.cel.environment import LANGUAGE_1_36, LANGUAGE_SINCE_1_37, LANGUAGE_UP_TO_1_35, Language
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.program import Program, compile_expression
from kschedweb.engine.cel.quantities import Quantity, to_quantity
from kschedweb.engine.cel.versions import Version, parse_version

__all__ = [
    "LANGUAGE_1_36",
    "LANGUAGE_SINCE_1_37",
    "LANGUAGE_UP_TO_1_35",
    "Attribute",
    "Device",
    "EvaluationError",
    "ExpressionError",
    "Language",
    "Program",
    "Quantity",
    "Version",
    "compile_expression",
    "parse_attribute",
    "parse_version",
    "to_quantity",
]
