"""What services raise when a request cannot be done; REST and pages both show it (problems.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, TypedDict


class FieldProblem(TypedDict):
    """One thing wrong with the input: where (``spec.nodes[3].name``, ``""`` for the whole) and what to do."""

    path: str
    message: str


class ApplicationError(Exception):
    """A refusal that the person can understand and act on.

    ``detail`` is one sentence, ``errors`` say where in the input; neither may hold a secret.
    """

    status = 400
    retry_after: int | None = None  # seconds after which it may go better

    def __init__(self, detail: str, *, errors: Iterable[FieldProblem] = (), status: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        if status is not None:
            self.status = status

    @classmethod
    def at(cls, path: str, message: str) -> Self:
        """A refusal that stands beside the field ``path``."""
        refusal = cls(message)
        refusal.errors = [{"path": path, "message": message}]
        return refusal


class NotFound(ApplicationError):
    """What was asked for does not exist, or not for this person."""

    status = 404


class Conflict(ApplicationError):
    """The request is right, but the present state forbids it (a name is taken, a job has ended)."""

    status = 409


class PreconditionFailed(ApplicationError):
    """Somebody changed it in the meantime (``If-Match`` or an expected number does not hold)."""

    status = 412


class TooLarge(ApplicationError):
    """The input is larger than the operator allows."""

    status = 413


class Unprocessable(ApplicationError):
    """Well-formed, but it contradicts something said before."""

    status = 422


class TooManyRequests(ApplicationError):
    """One person or address asks for more at once than they may; it may go better ``retry_after`` seconds later."""

    status = 429

    def __init__(self, detail: str, *, retry_after: int = 10) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(ApplicationError):
    """Another system (a cluster, the broker, the database) did not answer."""

    status = 503
    retry_after = 5
