"""Errors that services raise for the user. REST and pages show them (problems.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, TypedDict


class FieldProblem(TypedDict):
    """A problem of the input."""

    # The place in the input, as "spec.nodes[3].name"; "" for the whole.
    path: str
    message: str


class ApplicationError(Exception):
    """An error that the user can understand and act on. It must not contain a secret."""

    # The HTTP status of the answer.
    status = 400
    # Seconds after which a retry may succeed.
    retry_after: int | None = None

    def __init__(self, detail: str, *, errors: Iterable[FieldProblem] = (), status: int | None = None) -> None:
        super().__init__(detail)
        # One sentence.
        self.detail = detail
        # Problems with their paths in the input.
        self.errors = list(errors)
        if status is not None:
            self.status = status

    @classmethod
    def at(cls, path: str, message: str) -> Self:
        """Return an error at the field ``path``."""
        refusal = cls(message)
        refusal.errors = [{"path": path, "message": message}]
        return refusal


class Forbidden(ApplicationError):
    """The object exists, but this user may not have it."""

    status = 403


class NotFound(ApplicationError):
    """The object does not exist, or is not visible to this user."""

    status = 404


class Conflict(ApplicationError):
    """The request is valid, but the current state forbids it (a name is taken, a job has ended)."""

    status = 409


class PreconditionFailed(ApplicationError):
    """The object changed in the meantime (``If-Match`` or an expected number does not match)."""

    status = 412


class TooLarge(ApplicationError):
    """The input is larger than the operator allows."""

    status = 413


class Unprocessable(ApplicationError):
    """The request is well-formed, but cannot be processed."""

    status = 422


class TooManyRequests(ApplicationError):
    """A user or address exceeded a limit. A retry may succeed after ``retry_after`` seconds."""

    status = 429

    def __init__(self, detail: str, *, retry_after: int = 10) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(ApplicationError):
    """Another system (a cluster, the broker, the database) did not answer."""

    status = 503
    retry_after = 5
