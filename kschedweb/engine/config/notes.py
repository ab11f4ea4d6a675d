"""Notes on a conversion: what became of each item of an old document."""

from __future__ import annotations

from dataclasses import asdict

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.values import dataclass

EQUAL, NEAR, NONE = "equal", "near", "none"


@dataclass(frozen=True, slots=True)
class Note:
    """The result for one item of the old document.

    ``path`` is its place, such as ``priorities[2]``; in a Policy it is ``priorities`` if the item comes from the
    default provider. ``kind`` is equal, near or none; ``plugins`` are its counterparts.
    """

    path: str
    name: str
    kind: str
    text: str
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A configuration of a version before v1 as one of v1.

    ``version`` is the old apiVersion, ``document`` plain data of a KubeSchedulerConfiguration v1, and ``notes`` say
    what was changed, each with its place in the old document.
    """

    version: str
    document: Json
    notes: tuple[Note, ...]

    @property
    def summary(self) -> str:
        """The notes in a sentence."""
        counts = {kind: sum(note.kind == kind for note in self.notes) for kind in (EQUAL, NEAR, NONE)}
        breakdown = f"{counts[EQUAL]} keep the meaning, {counts[NEAR]} come near it, {counts[NONE]} have no counterpart"
        return f"{self.version} became v1, with {len(self.notes)} changes: {breakdown}."

    def to_dict(self) -> Json:
        return {"summary": self.summary, **asdict(self)}
