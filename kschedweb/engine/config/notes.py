"""Notes on a conversion: the result for each item of an old document."""

from __future__ import annotations

from dataclasses import asdict

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

EQUAL, NEAR, NONE = "equal", "near", "none"


@dataclass(frozen=True, slots=True)
class Note:
    """The result for one item of the old document."""

    # Place of the item, such as ``priorities[2]``; plain ``priorities`` in a Policy if it comes from the default
    # provider.
    path: str
    name: str
    # EQUAL, NEAR or NONE.
    kind: str
    text: str
    # Its counterparts.
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A configuration of a version before v1, converted to v1."""

    # The old apiVersion.
    version: str
    # Plain data of a KubeSchedulerConfiguration v1.
    document: Json
    # The changes, each with its place in the old document.
    notes: tuple[Note, ...]

    @property
    def summary(self) -> str:
        """The notes in a sentence."""
        counts = {kind: sum(note.kind == kind for note in self.notes) for kind in (EQUAL, NEAR, NONE)}
        breakdown = f"{counts[EQUAL]} keep the meaning, {counts[NEAR]} come near it, {counts[NONE]} have no counterpart"
        return f"{self.version} became v1, with {len(self.notes)} changes: {breakdown}."

    def to_dict(self) -> Json:
        return {"summary": self.summary, **asdict(self)}
