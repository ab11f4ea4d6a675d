"""Sources of a cluster, and the errors of reading them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kschedweb.cli.exits import CommandError, Exit


class SourceError(CommandError):
    """A request that the API server, or the way to it, refused."""

    def __init__(self, text: str, *, forbidden: bool = False, absent: bool = False) -> None:
        super().__init__(text, Exit.REFUSED if forbidden else Exit.UNREACHABLE)
        self.forbidden = forbidden
        # The cluster does not serve that address, or has no such object.
        self.absent = absent


@dataclass(frozen=True)
class SourceOptions:
    """The choice of a cluster; "" is kubectl's own choice."""

    kubeconfig: str = ""
    context: str = ""


class ClusterSource(Protocol):
    """An API server that answers GET."""

    # How it is reached, for the line that says what was assumed.
    label: str

    def get(self, path: str) -> bytes:
        """Return the answer to GET ``path``. Raises SourceError."""
        ...
