"""CEL expressions that select devices, as kube-scheduler compiles and evaluates them."""

from __future__ import annotations

from functools import lru_cache

from kschedweb.engine.cel.checker import check_expression
from kschedweb.engine.cel.cost import BUDGET
from kschedweb.engine.cel.device import Device
from kschedweb.engine.cel.environment import SINCE_1_37, Language
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, Panicked
from kschedweb.engine.cel.operations import unwrap_present
from kschedweb.engine.cel.parser import parse_expression
from kschedweb.engine.cel.plan import plan_expression
from kschedweb.engine.cel.values import NOT_BOOL, TYPE_NAMES, OptionalValue, Value
from kschedweb.engine.patience import checkpoint

_CACHED = 1024


class Program:
    """A compiled expression; one may be used by several threads."""

    __slots__ = ("_frame", "_run", "expression")

    def __init__(self, expression: str, language: Language) -> None:
        self.expression = expression
        try:
            self._run, length = plan_expression(check_expression(parse_expression(expression), language), language)
        except (ExpressionError, Panicked) as error:
            raise ExpressionError(str(error), expression) from None
        self._frame: list[Value] = [None, BUDGET] + [None] * (length - 2)

    def matches(self, device: Device) -> bool:
        """Whether the device is selected.

        Raises EvaluationError in kube-scheduler's words, Refused where only the device's values show that the
        expression is outside the simulation.
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
    """What an optional holds counts, all else is no answer."""
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
    try:
        return Program(expression, language)
    except ExpressionError as error:
        return error


def compile_expression(expression: str, language: Language = SINCE_1_37) -> Program:
    """The program of an expression, kept for the next time; raises Refused."""
    result = _compile_cached(expression, language)
    if isinstance(result, ExpressionError):
        raise ExpressionError(str(result))
    return result
