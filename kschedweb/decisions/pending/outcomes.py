"""The outcomes of a snapshot's pending pods under a revision, as a row that a job writes and every process reads."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.models import PendingOutcomes
from kschedweb.decisions.responsibility import PodStatus
from kschedweb.engine.config import Configuration
from kschedweb.policies.selectors import load_revision
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.policies.models import Revision

# Of zlib: fast, for a little more space.
LEVEL = 3


@dataclass(frozen=True)
class DecisionSummary:
    """The decision about a pod in short, for lists."""

    # "" if the pod fits nowhere; ``message`` then says why.
    node: str
    feasible: int
    message: str
    reasons: tuple[str, ...] = ()
    # The scheduler that is responsible for the pod, if it is not the policy that was asked. It and ``wait`` are not
    # stored: they are looked up when somebody reads the list.
    scheduler: ResponsibleScheduler | None = None
    # The wait for approval, if there is one.
    wait: ApprovalWait | None = None

    @property
    def status(self) -> PodStatus:
        if self.wait is not None:
            return PodStatus.WAITING
        handled = self.scheduler is not None and self.scheduler.revision is None
        return PodStatus.HANDLED if handled else PodStatus.DECIDED


_summaries_cache: LRU[dict[str, DecisionSummary]] = LRU(8)


def find_summaries(snapshot: Snapshot, revision: Revision) -> Mapping[str, DecisionSummary]:
    """Return what a job found, by "namespace/name"; empty without a job, or if the watermarks have changed since."""
    rows = PendingOutcomes.objects.filter(snapshot=snapshot, revision=revision)
    version = rows.values_list("figures", flat=True).first()
    if version is None or (version != figures_version(snapshot, revision) and weighs_use(snapshot, revision)):
        return {}
    key = snapshot.pk, revision.pk, version
    return _summaries_cache.get(key, lambda: unpack_summaries(rows.values_list("content", flat=True).get()))


def figures_version(snapshot: Snapshot, revision: Revision) -> str:
    """Return the version of all that answers depend on besides snapshot and revision, as text."""
    return repr(get_decider(revision).state_version(snapshot)[1:])


def weighs_use(snapshot: Snapshot, revision: Revision) -> bool:
    """Return whether a plugin of ``revision`` uses watermarks."""
    rules = load_revision(revision, snapshot.cluster.server_version)
    return isinstance(rules, Configuration) and rules.weighs_use


def pack_summaries(summaries: Mapping[str, DecisionSummary]) -> bytes:
    """Return the outcomes as bytes. Equal ones are written once, since most pending pods are replicas of few."""
    distinct = {outcome: place for place, outcome in enumerate(dict.fromkeys(summaries.values()))}
    rows = [[summary.node, summary.feasible, summary.message, summary.reasons] for summary in distinct]
    places = {key: distinct[outcome] for key, outcome in summaries.items()}
    return zlib.compress(json.dumps([rows, places], separators=(",", ":")).encode(), LEVEL)


def unpack_summaries(content: bytes | memoryview) -> dict[str, DecisionSummary]:
    """Read what ``pack_summaries`` returned."""
    rows, places = json.loads(zlib.decompress(content))
    distinct = [DecisionSummary(node, feasible, message, tuple(reasons)) for node, feasible, message, reasons in rows]
    return {key: distinct[place] for key, place in places.items()}


def clear_cache() -> None:
    """Clear the cache, for tests, in which primary keys repeat."""
    _summaries_cache.clear()
