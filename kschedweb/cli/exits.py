"""What the exit status says, and the error that ends a command with one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Scripts rely on these numbers (docs/automating.md)."""

    OK = 0  # answered, and the answer is yes where there is a question
    NO = 1  # the gate fails, the pod fits no node, a run failed
    WRONG = 2  # options, files, or what the server says of them
    REFUSED = 3  # the token is missing, unknown, expired, or may not do this
    UNREACHABLE = 4  # no answer, an answer too late, or an error of the server's own


class CommandError(Exception):
    """It ends the command: one line on stderr says where and what, ``status`` what kind it is."""

    def __init__(self, text: str, status: Exit = Exit.WRONG) -> None:
        super().__init__(text)
        self.status = status
