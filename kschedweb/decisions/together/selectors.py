"""Several pods explained at once, those with the same verdict together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.clusters.seen import pod_missing
from kschedweb.clusters.selectors import pending_keys, pod_ref, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.responsibility import PodStatus
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.clusters.models import PodRow, Snapshot
    from kschedweb.decisions.services import DecisionSummary
    from kschedweb.policies.models import Revision

MOST = 100  # pods at a time


@dataclass(frozen=True)
class Verdict:
    """What is decided of a pod; ``outcome`` is ``None`` where there was no time for it."""

    row: PodRow
    outcome: DecisionSummary | None

    @property
    def key(self) -> str:
        return f"{self.row.namespace}/{self.row.name}"


@dataclass(frozen=True)
class Group:
    """Pods with the same verdict.

    ``kind``: ``fits``, ``stays`` (bound, and it would go to its node again), ``moves`` (bound, and it would go
    elsewhere), ``stuck`` for ``reasons``, ``waiting`` for approval, ``handled`` by a scheduler that nobody here knows,
    ``open`` where there was no time.
    """

    kind: str
    reasons: tuple[str, ...]
    pods: tuple[Verdict, ...]


ORDER = ("stuck", "waiting", "fits", "moves", "stays", "handled", "open")

KINDS = {PodStatus.WAITING: "waiting", PodStatus.HANDLED: "handled"}


def together(snapshot: Snapshot, revision: Revision, keys: Sequence[str], seconds: float) -> list[Group]:
    """The verdicts about pods ("namespace/name") in groups: those that fit nowhere first, the largest group first.

    Without ``keys`` they are about the first ``MOST`` pending pods. Raises ``ApplicationError`` for too many, and for
    pods that the snapshot does not have.
    """
    wanted = list(dict.fromkeys(keys)) or pending_keys(snapshot, MOST)
    if len(wanted) > MOST:
        raise ApplicationError.at("pod", f"At most {MOST} pods are explained together; these are {len(wanted)}.")
    rows = _rows(snapshot, wanted)
    outcomes = services.outcomes(snapshot, revision, [pod_ref(rows[key]) for key in wanted], seconds=seconds)
    found: dict[tuple[str, tuple[str, ...]], list[Verdict]] = {}
    for key in wanted:
        verdict = Verdict(rows[key], outcomes.get(key))
        found.setdefault(_alike(verdict), []).append(verdict)
    groups = [Group(kind, reasons, tuple(pods)) for (kind, reasons), pods in found.items()]
    return sorted(groups, key=lambda group: (ORDER.index(group.kind), -len(group.pods)))


def _alike(verdict: Verdict) -> tuple[str, tuple[str, ...]]:
    outcome, bound = verdict.outcome, verdict.row.node
    if outcome is None:
        return "open", ()
    if outcome.status is not PodStatus.DECIDED:
        return KINDS[outcome.status], outcome.reasons
    if not outcome.node:
        return "stuck", tuple(sorted(outcome.reasons))
    if not bound:
        return "fits", ()
    return ("stays" if bound == outcome.node else "moves"), ()


def _rows(snapshot: Snapshot, keys: Iterable[str]) -> dict[str, PodRow]:
    named = [key.partition("/") for key in keys]
    rows = pod_rows(snapshot).filter(
        namespace__in={space for space, _, _ in named if "\0" not in space},
        name__in={name for _, _, name in named if "\0" not in name},
    )
    found = {f"{row.namespace}/{row.name}": row for row in rows}
    if missing := [key for key in keys if key not in found]:
        raise ApplicationError.at("pod", f"{pod_missing(snapshot, missing[0]).detail} Write namespace/name.")
    return found
