"""The kinds of objects that a snapshot lacks, as far as they may change a decision about a pod of a namespace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.clusters.kinds import DECIDING_IN_NAMESPACE, KINDS, NOT_DECIDING, ObjectKind

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot


@dataclass(frozen=True)
class MissingKind:
    """Objects of a kind that are not in a snapshot."""

    kind: ObjectKind
    # How many were left out; None if all were.
    count: int | None

    @property
    def sentence(self) -> str:
        """The missing kind and its cost as a sentence, in the language of the reader."""
        words = {"kind": self.kind.name, "cost": gettext(self.kind.costs)}
        if self.count is None:
            return gettext("No objects of kind %(kind)s could be read. Without them, %(cost)s.") % words
        return ngettext(
            "%(count)s %(kind)s is left out of this snapshot. Without it, %(cost)s.",
            "%(count)s objects of kind %(kind)s are left out of this snapshot. Without them, %(cost)s.",
            self.count,
        ) % (words | {"count": f"{self.count:,}"})


def list_missing_kinds(snapshot: Snapshot, namespace: str) -> list[MissingKind]:
    """Return what is missing in ``snapshot`` and may change a decision about a pod of ``namespace``."""
    subjects = [problem["object"] for problem in snapshot.problems if problem.get("left_out")]
    by_kind = Counter(subject.partition(" ")[0] for subject in subjects if _is_relevant(subject, namespace))
    missing = []
    for kind in KINDS:
        if kind.name in NOT_DECIDING:
            continue
        # Problems name the resource where a whole kind is missing, and the kind where single objects are.
        if kind.resource in by_kind:
            missing.append(MissingKind(kind, None))
        elif kind.name in by_kind:
            missing.append(MissingKind(kind, by_kind[kind.name]))
    return missing


def _is_relevant(subject: str, namespace: str) -> bool:
    kind, _, key = subject.partition(" ")
    return kind not in DECIDING_IN_NAMESPACE or not key or key.partition("/")[0] == namespace
