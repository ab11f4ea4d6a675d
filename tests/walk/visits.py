"""One walk over the site: an admin opens every address once, in a language of its own, and judges look at each answer.

What is asked of every address is a judge here, and no walk of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support import addresses
from tests.support.routes import leading_to, routes
from tests.walk import links

if TYPE_CHECKING:
    from tests.support.addresses import Places

LOGIN = ("login", "account_login")  # whoever is logged in is led on from there


@dataclass(frozen=True)
class Visit:
    """An answer, and how many SQL queries it took; ``kind`` is page, REST or part (of a page, or a file)."""

    kind: str
    name: str  # as addresses.py has it
    address: str
    answer: Any
    queries: int
    queries_again: Callable[[], int]

    @property
    def text(self) -> str:
        if getattr(self.answer, "is_async", False):
            return ""
        raw = b"".join(self.answer.streaming_content) if self.answer.streaming else self.answer.content
        return str(raw.decode(errors="replace"))

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Judge(Protocol):
    """Looks at each visit, and at the end says what was missing; what it says is wrong."""

    def judge(self, visit: Visit) -> Iterable[str]: ...

    def end(self) -> Iterable[str]: ...


class Walk:
    """An admin, on the way through ``places``."""

    def __init__(self, places: Places, admin: Client, language: str) -> None:
        self.places, self.admin, self.language = places, admin, language
        self.visited: dict[str, int] = {}

    def get(self, client: Client, address: str) -> tuple[Any, int]:
        """The answer, and how many queries it took."""
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address, headers={"Accept-Language": self.language})
        self.visited[address] = answer.status_code
        return answer, len(queries)

    def visit(self, kind: str, name: str, address: str) -> Visit:
        client = Client() if name in LOGIN else self.admin
        links.choose(self.admin, address)
        answer, queries = self.get(client, address)
        return Visit(kind, name, address, answer, queries, lambda: self.get(client, address)[1])

    def visits(self) -> Iterator[Visit]:
        """Every page and resource, which must be there, then every other route."""
        pages, resources = addresses.pages(self.places), addresses.resources(self.places)
        for kind, addresses_of_kind in (("page", pages), ("REST", resources)):
            for name, address in addresses_of_kind.items():
                visit = self.visit(kind, name, address)
                assert visit.answer.status_code == 200, f"{address}: {visit.answer.status_code} {visit.text[:500]}"
                yield visit
        for route in routes(leading_to(self.places)):
            if route.name != "logout" and not route.opened:
                yield self.visit("part", route.name, route.address)

    def judge_all(self, judges: Iterable[Judge]) -> dict[type, list[str]]:
        """Return the findings of each judge."""
        problems: dict[type, list[str]] = {type(judge): [] for judge in judges}
        for visit in self.visits():
            for judge in judges:
                problems[type(judge)] += [f"{visit}: {wrong}" for wrong in judge.judge(visit)]
        for judge in judges:
            problems[type(judge)] += judge.end()
        return problems
