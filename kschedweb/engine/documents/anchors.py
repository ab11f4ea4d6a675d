"""The values that anchors stand for, with bounds on aliases: they count as if they were written out."""

from __future__ import annotations

from typing import Generic, TypeVar

from kschedweb.engine.documents.yaml_events import Bounds, Event, Reason, refusal_at
from kschedweb.engine.values import dataclass

# Characters. Without a bound, aliases of one long text could fill memory.
MOST_ALIASED_TEXT = 1 << 20
MERGE_TAKES = "a merge key (<<) takes a mapping, or a list of mappings"
AnchoredValue = TypeVar("AnchoredValue")


@dataclass(slots=True)
class Extent:
    """The size of a value."""

    # Number of values in it, itself included.
    values: int = 1
    # Characters of text.
    text: int = 0
    # Levels of nesting.
    depth: int = 0

    def include_part(self, part: Extent) -> None:
        self.values += part.values
        self.text += part.text
        self.depth = max(self.depth, part.depth + 1)


class Anchors(Generic[AnchoredValue]):
    """The anchored values of one document, and the size of all that its aliases repeated so far."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        # Complete values only: an alias within its own anchor's value would make a loop.
        self._anchored: dict[str, tuple[AnchoredValue, Extent]] = {}
        self._values = self._aliased_text = 0

    def begin_document(self) -> None:
        self._anchored.clear()

    def begin_value(self, event: Event) -> None:
        """Count a value. Its anchor no longer stands for an earlier one."""
        self._anchored.pop(event.anchor, None)
        self._values += 1

    def store_value(self, anchor: str | None, value: AnchoredValue, extent: Extent) -> None:
        """Let ``anchor`` stand for ``value``, which is complete."""
        if anchor:
            self._anchored[anchor] = value, extent

    def resolve_alias(self, event: Event, depth: int) -> tuple[AnchoredValue, Extent]:
        """Return the value that the alias ``event`` below ``depth`` collections stands for. Raises RefusedError."""
        if event.anchor not in self._anchored:
            raise refusal_at(
                event, Reason.ALIAS, f"the alias *{event.anchor[:80]} stands for no complete value before it"
            )
        value, extent = self._anchored[event.anchor]
        self._values += extent.values
        self._aliased_text += extent.text
        if self._values > self.bounds.values:
            raise refusal_at(event, Reason.VALUES, f"there are more than {self.bounds.values:,} values")
        if self._aliased_text > MOST_ALIASED_TEXT:
            raise refusal_at(event, Reason.ALIAS, f"aliases repeat more than {MOST_ALIASED_TEXT:,} characters of text")
        if depth + extent.depth > self.bounds.depth:
            raise refusal_at(event, Reason.DEPTH, f"values are nested deeper than {self.bounds.depth} levels")
        return value, extent
