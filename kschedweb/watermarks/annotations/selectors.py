"""Reads the annotation settings of clusters, and findings on annotations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.clusters.selectors import snapshot_current, snapshot_objects
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.state.watermarks.annotations import KEY, key_of
from kschedweb.engine.state.watermarks.lint import ERROR, LintFinding, lint_annotations
from kschedweb.engine.state.watermarks.lint.crane import CRANE_KEYS
from kschedweb.engine.state.watermarks.table import WORKLOADS
from kschedweb.watermarks.models import Annotating

Texts = dict[str, dict[str, str]]


def annotating_get(cluster: Cluster) -> Annotating:
    """Return the settings of ``cluster`` with its last run; an unsaved row if there are none."""
    annotating = Annotating.objects.select_related("cluster", "changed_by").filter(cluster=cluster).first()
    return annotating or Annotating(cluster=cluster)


@lru_cache(maxsize=1)
def time_zones() -> tuple[str, ...]:
    """Return the names of all time zones of this system."""
    return tuple(sorted(available_timezones()))


def permissions_missing(annotating: Annotating) -> list[str]:
    """Return the resources that the cluster's credentials may not patch."""
    return [entry["resource"] for entry in annotating.permissions if not entry["allowed"]]


def written_since(annotating: Annotating, time: datetime) -> bool:
    """Return whether the last run wrote something after ``time``."""
    return annotating.ran_at is not None and annotating.ran_at > time and bool(annotating.outcome.get("patched"))


@dataclass(frozen=True)
class Lint:
    """Findings on the annotations of a snapshot."""

    taken_at: datetime
    time_zone: str
    # How many nodes there are, and how many objects are annotated in each form.
    nodes: int
    own: int
    workloads: int
    crane: int
    findings: tuple[LintFinding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.level == ERROR for finding in self.findings)


def lint_get(cluster: Cluster, time_zone: str) -> Lint | None:
    """Return the findings on the newest snapshot at its time; ``None`` if there is no snapshot."""
    snapshot = snapshot_current(cluster)
    return _lint_snapshot(snapshot.pk, snapshot.taken_at, time_zone) if snapshot else None


@lru_cache(maxsize=16)
def _lint_snapshot(snapshot: UUID, taken_at: datetime, time_zone: str) -> Lint:
    """Return the findings on a snapshot. They are cached, because snapshots are immutable."""
    nodes, workloads = texts_of(snapshot_objects(Snapshot(pk=snapshot)))
    findings = lint_annotations(nodes, workloads, taken_at.timestamp(), ZoneInfo(time_zone))
    return Lint(
        taken_at=taken_at,
        time_zone=time_zone,
        nodes=len(nodes),
        own=sum(KEY in listed for listed in nodes.values()),
        workloads=sum(KEY in listed for listed in workloads.values()),
        crane=sum(not CRANE_KEYS.isdisjoint(listed) for listed in nodes.values()),
        findings=tuple(findings),
    )


def texts_of(objects: list[Json]) -> tuple[Texts, Texts]:
    """Return the annotations of nodes and of workloads by their names in watermarks."""
    nodes: Texts = {}
    workloads: Texts = {}
    for raw in objects:
        if raw.get("kind") == "Node" or raw.get("kind") in WORKLOADS:
            try:
                name = key_of(raw)
            except ObjectError:
                continue
            listed = raw["metadata"].get("annotations")
            texts = listed.items() if isinstance(listed, dict) else ()
            target = nodes if raw["kind"] == "Node" else workloads
            target[name] = {key: text for key, text in texts if isinstance(text, str)}
    return nodes, workloads
