"""No address of a page is lost: what moved redirects for good, with what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support import former

if TYPE_CHECKING:
    from tests.walk.visits import Visit, Walk


class MovedAddresses:
    """At the end of the walk, opens the addresses that pages once had: they lead to what was visited."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def judge(self, visit: Visit) -> list[str]:
        return []

    def end(self) -> list[str]:
        return [wrong for address in former.addresses(self.walk.places) if (wrong := self.find_loss(address))]

    def find_loss(self, address: str) -> str:
        if self.status(address) == 200:
            return ""
        answer, _ = self.walk.get(self.walk.admin, address)
        location = answer.get("Location", "")
        path, _, query = location.partition("?")
        former_path, _, former_query = address.partition("?")
        keeps_query = set(filter(None, former_query.split("&"))) <= set(query.split("&"))
        has_moved = answer.status_code == 308 and path != former_path and keeps_query and self.status(location) == 200
        return "" if has_moved else f"{address} leads to {answer.status_code} {location}"

    def status(self, address: str) -> int:
        if address not in self.walk.visited:
            self.walk.get(self.walk.admin, address)
        return self.walk.visited[address]
