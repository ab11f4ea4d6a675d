"""The exit statuses, and the error that ends a command with one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit status. Scripts rely on these numbers (docs/automating.md)."""

    # Answered; if there is a question, the answer is yes.
    OK = 0
    # The gate fails, the pod fits no node, a run failed.
    NO = 1
    # Wrong options or files, or the server refuses their content.
    WRONG = 2
    # The token is missing, unknown, expired, or may not do this.
    REFUSED = 3
    # No answer, an answer too late, or an error of the server.
    UNREACHABLE = 4


class CommandError(Exception):
    """An error that ends the command with one line on stderr, and with ``status``."""

    def __init__(self, text: str, status: Exit = Exit.WRONG) -> None:
        super().__init__(text)
        self.status = status
