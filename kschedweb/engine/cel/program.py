"""CEL expressions that select devices, as kube-scheduler compiles and evaluates them."""

from __future__ import annotations

from functools import lru_cache

from kschedweb.engine.cel.checker import check_expression
from kschedweb.engine.cel.cost import BUDGET
from kschedweb.engine.cel.device import Device
from kschedweb.engine.cel.environment import LANGUAGE_SINCE_1_37, Language
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, Panicked
from kschedweb.engine.cel.operations import unwrap_present
from kschedweb.engine.cel.parser import parse_expression
from kschedweb.engine.cel.plan import plan_expression
from kschedweb.engine.cel.values import NOT_BOOL, TYPE_NAMES, OptionalValue, Value
from kschedweb.engine.patience import checkpoint

# Expressions kept at most, over all languages.
_CACHED = 1024


class Program:
    """A compiled expression; several threads may use one."""

    __slots__ = ("_frame", "_run", "expression")

    def __init__(self, expression: str, language: Language) -> None:
        self.expression = expression
        try:
            self._run, length = plan_expression(check_expression(parse_expression(expression), language), language)
        except (ExpressionError, Panicked) as error:
            raise ExpressionError(str(error), expression) from None
        # Copied for each device, which is quicker than building it.
        self._frame: list[Value] = [None, BUDGET] + [None] * (length - 2)

    def matches(self, device: Device) -> bool:
        """Return True if the expression selects the device.

        Raise EvaluationError in kube-scheduler's words, ExpressionError if the device's values show that the simulation
        does not support the expression.
        """
        checkpoint()
        if device.problem:
            raise EvaluationError(device.problem)
        frame = self._frame.copy()
        frame[0] = device
        try:
            value = self._run(frame)
        except Panicked as error:
            raise EvaluationError(str(error)) from None
        except ExpressionError as error:
            raise ExpressionError(error.why, self.expression) from None
        return value if value is True or value is False else _as_bool(value)


def _as_bool(value: Value) -> bool:
    """Return the bool inside an optional; raise EvaluationError for any other value."""
    inner = value
    try:
        while type(inner) is OptionalValue:
            inner = unwrap_present(inner)
    except EvaluationError as error:
        raise _no_bool(value, str(error)) from None
    if type(inner) is bool:
        return inner
    raise _no_bool(value, NOT_BOOL[type(inner)])


def _no_bool(value: Value, why: str) -> EvaluationError:
    return EvaluationError(f"CEL result of type {TYPE_NAMES[type(value)]} could not be converted to bool: {why}")


@lru_cache(maxsize=_CACHED)
def _compile_cached(expression: str, language: Language) -> Program | ExpressionError:
    """Return the program, or its error: errors are cached too."""
    try:
        return Program(expression, language)
    except ExpressionError as error:
        return error


def compile_expression(expression: str, language: Language = LANGUAGE_SINCE_1_37) -> Program:
    """Return the program of an expression from the cache; raise ExpressionError."""
    result = _compile_cached(expression, language)
    if isinstance(result, ExpressionError):
        # A new error each time: a cached one would collect tracebacks.
        raise ExpressionError(str(result))
    return result
