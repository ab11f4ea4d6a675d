"""Errors of CEL expressions."""

from __future__ import annotations

# Characters of the expression that an error quotes.
_EXCERPT_LENGTH = 120


class ExpressionError(Exception):
    """The simulation does not support the expression: invalid CEL, or a part of CEL that is left out.

    The text names the expression and the problem.
    """

    def __init__(self, why: str, expression: str = "") -> None:
        excerpt = expression if len(expression) <= _EXCERPT_LENGTH else f"{expression[:_EXCERPT_LENGTH]}…"
        super().__init__(f"the CEL expression {excerpt!r}: {why}" if expression else why)
        self.why = why


class EvaluationError(Exception):
    """The expression has no value for this device; the text is kube-scheduler's."""


class Panicked(Exception):
    """A panic in kube-scheduler, which ends the whole evaluation: ``&&`` and ``||`` do not absorb it."""


NO_SUCH_OVERLOAD = "no such overload"


def no_such_overload() -> EvaluationError:
    """Return kube-scheduler's error for an operation that is not defined for the types of its values."""
    return EvaluationError(NO_SUCH_OVERLOAD)
