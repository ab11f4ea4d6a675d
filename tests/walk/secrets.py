"""No answer of the REST API, no page, no part of one and no header holds a secret that somebody once gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.walk.visits import Visit


class Secrets:
    def __init__(self, forbidden: list[str]) -> None:
        assert all(forbidden)
        self.forbidden = forbidden

    def judge(self, visit: Visit) -> Iterator[str]:
        text = visit.text + str(visit.answer.headers)
        yield from (f"shows {value}" for value in self.forbidden if value in text)

    def end(self) -> list[str]:
        return []
