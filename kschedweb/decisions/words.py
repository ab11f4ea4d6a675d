"""What is said of verdicts in plain words: readings and shortages, and how a sentence lists things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kschedweb.web.units import amount


@dataclass(frozen=True)
class Reading:
    """One plain sentence about a node, and what would change the verdict ("" where nothing short does)."""

    text: str
    remedy: str = ""


class RejectionReason(NamedTuple):
    """Why nodes were rejected: by what, in the scheduler's words, and what that is about where the plugin says."""

    plugin: str
    text: str
    about: Any = None


@dataclass(frozen=True)
class Shortage:
    """How much of ``resource`` the pod asks, has free on the node, and could ever have there."""

    resource: str
    asked: int
    free: int
    allocatable: int

    @property
    def missing(self) -> int:
        return self.asked - self.free

    def __str__(self) -> str:
        return amount(self.missing, self.resource) + of(self.resource)


def of(resource: str) -> str:
    """A resource after its amount: CPU is named by its unit."""
    return "" if resource == "cpu" else f" {resource}"


def listed(items: list[str]) -> str:
    items = list(dict.fromkeys(items))
    if len(items) < 2:
        return items[0] if items else "something"
    return f"{', '.join(items[:-1])} and {items[-1]}"
