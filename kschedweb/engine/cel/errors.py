"""What can stand in the way of an answer about a CEL expression."""

from __future__ import annotations

_EXCERPT_LENGTH = 120


class ExpressionError(Exception):
    """The expression is outside the simulation: not valid CEL here, or of a part of CEL that is left out.

    The text names the expression and what is wrong with it.
    """

    def __init__(self, why: str, expression: str = "") -> None:
        excerpt = expression if len(expression) <= _EXCERPT_LENGTH else f"{expression[:_EXCERPT_LENGTH]}…"
        super().__init__(f"the CEL expression {excerpt!r}: {why}" if expression else why)
        self.why = why


class EvaluationError(Exception):
    """The expression has no value for this device; the text is kube-scheduler's."""


class Panicked(Exception):
    """What ends a whole evaluation in kube-scheduler: unlike an EvaluationError, ``&&`` and ``||`` do not absorb it."""


NO_SUCH_OVERLOAD = "no such overload"


def no_such_overload() -> EvaluationError:
    """What kube-scheduler says where an operation is not defined for the values it gets."""
    return EvaluationError(NO_SUCH_OVERLOAD)
