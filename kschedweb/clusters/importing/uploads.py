"""Uploaded files, stored in chunks until a job has read them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, groupby
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot, Upload, UploadPiece
from kschedweb.jobs.models import ENDED
from kschedweb.web.errors import Conflict, TooLarge, Unavailable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User

# Bytes of a file in a row.
PIECE = 512 * 1024
# zlib's fastest level: a chunk takes a hundredth of a second.
LEVEL = 1
# Unread uploads of a user.
MAX_UPLOADS = 5
# Bytes; larger files are read by a job, or one at a time.
LARGE = 1024 * 1024
# Age after which uploads without a job are deleted.
ABANDONED = timedelta(hours=1)
Files = Iterable[tuple[str, Iterable[bytes]]]

_turn = Lock()


def read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of ``file`` in chunks."""
    while piece := file.read(PIECE):
        yield piece


def looked_at(files: Files) -> tuple[Files, bool]:
    """Return ``files``, and whether they are large together. Chunks that were read for that are yielded again."""
    waiting, peeked = iter(files), list[tuple[str, Iterable[bytes]]]()
    size = 0
    for name, content in waiting:
        read, remaining = list[bytes](), iter(content)
        peeked.append((name, chain(read, remaining)))
        for piece in remaining:
            read.append(piece)
            size += len(piece)
            if size > LARGE:
                return chain(peeked, waiting), True
    return peeked, False


def upload_keep(*, user: User | None, name: str, replace: bool, files: Files, limit: int, version: str = "") -> Upload:
    """Store ``files`` (name, content) of at most ``limit`` bytes for the cluster ``name``, in short transactions."""
    uploads_forget()
    if Upload.objects.filter(created_by=user).count() >= MAX_UPLOADS:
        raise Conflict(f"{MAX_UPLOADS} of your imports wait to be read: wait for one of them, or cancel its job.")
    upload = Upload.objects.create(name=name, replace=replace, version=version, created_by=user)
    try:
        for number, (place, file, piece) in enumerate(_numbered_pieces(files)):
            upload.size += len(piece)
            if upload.size > limit:
                raise TooLarge(f"The files are larger than {limit // 1024 // 1024} MiB, which is the most.")
            packed = zlib.compress(piece, LEVEL)
            UploadPiece.objects.create(upload=upload, number=number, place=place, file=file, content=packed)
        upload.save(update_fields=["size"])
    except BaseException:
        upload.delete()
        raise
    return upload


def _numbered_pieces(files: Files) -> Iterator[tuple[int, str, bytes]]:
    for place, (file, content) in enumerate(files):
        name = file.replace("\0", "")[:255]
        # A row without content, so that an empty file counts too.
        yield place, name, b""
        for piece in content:
            yield place, name, piece


def upload_files(upload: Upload) -> Files:
    """Yield the files of ``upload``, with one chunk in memory at a time."""
    rows = upload.pieces.order_by("number").values_list("place", "file", "number")
    for (_, file), group in groupby(list(rows), key=lambda row: row[:2]):
        yield file, (_piece_content(upload, number) for _, _, number in group)


def _piece_content(upload: Upload, number: int) -> bytes:
    return zlib.decompress(upload.pieces.values_list("content", flat=True).get(number=number))


@transaction.atomic
def upload_drop(upload: Upload) -> None:
    """Delete ``upload``, and the cluster that was created for it if that is empty."""
    if upload.cluster is not None:
        cluster_drop(upload.cluster)
    upload.delete()


def cluster_drop(cluster: Cluster) -> None:
    """Delete a cluster that was created for files, if it is empty."""
    begun = Cluster.objects.filter(pk=cluster.pk, source=ClusterSource.IMPORT)
    begun.exclude(snapshots__complete=True).delete()


def uploads_forget() -> int:
    """Delete the uploads of processes that died. Returns their number."""
    before = timezone.now() - ABANDONED
    abandoned = [*Upload.objects.filter(job__state__in=ENDED), *Upload.objects.filter(job=None, created_at__lt=before)]
    for upload in abandoned:
        upload_drop(upload)
    _half_saved(before).delete()
    return len(abandoned)


def _half_saved(before: Any) -> QuerySet[Snapshot]:
    """Return snapshots whose saving was interrupted, because saving takes only seconds."""
    return Snapshot.objects.filter(Q(moment=None, taken_at__lt=before) | Q(rebuilt__lt=before), complete=False)


@contextmanager
def one_large_at_a_time(size: int) -> Iterator[None]:
    """Limit requests with a file in memory. Raises Unavailable if this process has another large one."""
    if size <= LARGE:
        yield
        return
    if not _turn.acquire(blocking=False):
        raise Unavailable("Another large file is being read: send this one again in a moment.")
    try:
        yield
    finally:
        _turn.release()
