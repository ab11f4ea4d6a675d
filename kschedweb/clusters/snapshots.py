"""Saves snapshots with their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice, repeat

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from kschedweb.clusters import storage
from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot
from kschedweb.clusters.rows import MOST_PROBLEMS, Problem, SnapshotRows, pod_row, rows_of
from kschedweb.clusters.signals import snapshot_stored
from kschedweb.engine.json_types import Json
from kschedweb.web import bulk
from kschedweb.web.errors import Conflict

Act = Callable[[], object]
Step = Callable[[str, int, int], None]

# Rows of one transaction; other writers get their turn between two.
BATCH = 500


def cluster_lock(cluster: Cluster) -> None:
    """Lock ``cluster`` for this transaction. Raises ``Conflict`` if it was deleted."""
    if not Cluster.objects.select_for_update().filter(pk=cluster.pk).exists():
        raise Conflict(f"Cluster {cluster.name} was deleted in the meantime.")


@dataclass(frozen=True)
class PreparedSnapshot:
    """A snapshot with its rows, prepared before the database is locked."""

    snapshot: Snapshot
    rows: SnapshotRows

    @classmethod
    def from_objects(
        cls,
        cluster: Cluster,
        objects: list[Json],
        problems: list[Problem],
        *,
        resource_versions: dict[str, str] | None = None,
        taken_at: datetime | None = None,
        moment: datetime | None = None,
    ) -> PreparedSnapshot:
        content, size = storage.pack_objects(objects)
        snapshot = Snapshot(
            cluster=cluster,
            taken_at=taken_at or timezone.now(),
            moment=moment,
            rebuilt=timezone.now() if moment else None,
            content=content,
            size=size,
            counts=dict(sorted(Counter(item["kind"] for item in objects).items())),
            resource_versions=resource_versions or {},
        )
        rows = rows_of(objects)
        snapshot.counts["pending"] = rows.pending
        snapshot.problems = (problems + rows.problems)[:MOST_PROBLEMS]
        return cls(snapshot, rows)

    def save(self, *, begin: Act | None = None, finish: Act | None = None, step: Step | None = None) -> Snapshot:
        """Save this as the current snapshot of its cluster, and delete old ones.

        Rows are saved in many short transactions, so that other writers do not wait long. ``begin`` is called in the
        first of them (by default it locks the cluster, which must exist), ``finish`` in the last.
        """
        with transaction.atomic():
            (begin or self._lock_cluster)()
            self.snapshot.save()
        try:
            self._save_rows(step or (lambda *_: None))
            with transaction.atomic():
                self._lock_cluster()
                self.snapshot.complete = True
                self.snapshot.save(update_fields=["complete"])
                if finish is not None:
                    finish()
        except BaseException as error:
            Snapshot.objects.filter(pk=self.snapshot.pk).delete()
            if isinstance(error, IntegrityError):
                with transaction.atomic():
                    # Raises Conflict if the cluster was deleted in the meantime, which explains the error better.
                    self._lock_cluster()
            raise
        if self.snapshot.moment is None:
            self._forget_older()
            snapshot_stored.send(Snapshot, snapshot=self.snapshot)
        return self.snapshot

    def _lock_cluster(self) -> None:
        cluster_lock(self.snapshot.cluster)

    def _save_rows(self, step: Step) -> None:
        total = len(self.rows.nodes) + len(self.rows.pods)
        rows = chain(zip(repeat(NodeRow), self.rows.nodes), zip(repeat(PodRow), map(pod_row, self.rows.pods)))
        for start in range(0, total, BATCH):
            batch = list(islice(rows, BATCH))
            with transaction.atomic():
                for model in (NodeRow, PodRow):
                    bulk.insert_rows(
                        model, [row for row_model, row in batch if row_model is model], snapshot_id=self.snapshot.pk
                    )
            step("Storing the snapshot", min(start + BATCH, total), total)

    def _forget_older(self) -> None:
        read = self.snapshot.cluster.snapshots.filter(moment=None)
        newest = read.order_by("-taken_at", "-id").values_list("pk", flat=True)
        for old in list(newest[settings.KEEP_SNAPSHOTS :]):
            # The snapshots that scenarios start from are kept.
            with suppress(ProtectedError):
                Snapshot.objects.filter(pk=old).only("pk").delete()
