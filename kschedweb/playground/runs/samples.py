"""The samples of a run as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from kschedweb.engine.state.columns import Codes
    from kschedweb.engine.studies.play.outcome import RunOutcome

HEAD = ("time", "nodes", "bound", "active", "backing_off", "unschedulable", "gated", "unknown")


class SampleList(Sequence[dict[str, float]]):
    """A row for each time, with the keys of HEAD; times are in seconds, everything else is a count."""

    def __init__(self, outcome: RunOutcome) -> None:
        self._samples = outcome.samples

    def __len__(self) -> int:
        return len(self._samples.time)

    @overload
    def __getitem__(self, place: int) -> dict[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, float]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, float] | list[dict[str, float]]:
        if isinstance(place, slice):
            # A slice of each column is quicker than a row at a time.
            columns = [self._read_column(name)[place].tolist() for name in HEAD]
            return [dict(zip(HEAD, row, strict=True)) for row in zip(*columns, strict=True)]
        # The slice of the last place, -1, ends at None, since -1 + 1 would end it before it begins.
        return self[place : place + 1 or None][0]

    def _read_column(self, name: str) -> Codes:
        # A run that was stored earlier does not say what is unknown.
        column: Codes = (
            self._samples.bound - self._samples.running if name == "unknown" else getattr(self._samples, name)
        )
        return column
