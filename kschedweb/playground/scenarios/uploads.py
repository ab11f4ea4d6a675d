"""Uploaded files of scenarios: text, possibly gzipped, decompressed within limits and inspected."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, TYPE_CHECKING

from kschedweb.clusters.importing.documents import MAGIC
from kschedweb.clusters.importing.uploads import LARGE, one_large_at_a_time
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.traces.inspection import Inspection, inspect_file
from kschedweb.engine.studies.traces.text import TraceError
from kschedweb.playground.scenarios.models import NAME_LIMIT, FileKind, Scenario, ScenarioFile
from kschedweb.web.errors import ApplicationError, TooLarge

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

# Highest ratio of decompressed to compressed size that is expected of real files.
EXPECTED = 50
# First bytes of every gzip file.
_GZIP = b"\x1f\x8b"
# No slash, and no leading hyphen: the name is part of addresses and of downloads.
_NAME = re.compile(rf"[\w.][\w.+@ -]{{0,{NAME_LIMIT - 1}}}")


@dataclass(frozen=True)
class Upload:
    """A file that was read and can be stored. Its fields are those of ScenarioFile."""

    name: str
    kind: str
    # Gzipped text.
    content: bytes
    # Bytes before compression.
    size: int
    sha256: str
    lines: int
    # Lines that are left out or read differently, with the reason.
    problems: list[Json] = field(default_factory=list)
    about: Json = field(default_factory=dict)

    @classmethod
    def from_file(cls, row: ScenarioFile) -> Upload:
        """Return an upload from a stored file, for another scenario."""
        return cls(row.name, row.kind, bytes(row.content), row.size, row.sha256, row.lines, row.problems, row.about)

    def to_row(self, scenario: Scenario, author: User | None) -> ScenarioFile:
        return ScenarioFile(scenario=scenario, created_by=author, **vars(self))


@contextmanager
def receive_file(file: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield the received bytes, at most one more than ``limit``; a process holds one large file at a time."""
    head = file.read(LARGE + 1)
    unpacks_to = len(head) * EXPECTED if head.startswith(_GZIP) else len(head)
    with one_large_at_a_time(unpacks_to):
        # One byte beyond the limit is enough to see that the file is too large.
        yield head + file.read(max(0, limit + 1 - len(head)))


def read_upload(name: str, content: bytes, *, limit: int, kind: str = "") -> Upload:
    """Inspect the ``content`` of a file ``name``; "" for ``kind`` detects it from the first line.

    Raises ``TooLarge`` if it has more than ``limit`` bytes, compressed or not. Raises ``ApplicationError``, with the
    line if there is one, for a useless file or an invalid name.
    """
    name = _clean_name(name)
    text = unpack_text(name, content, limit)
    # Archives are recognised only to say so; what looks like text is inspected next.
    for magic, format_name in MAGIC.items():
        if text.startswith(magic):
            raise field_error("file", f"{name} is a {format_name} file: give the text inside, or gzip it.")
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    problems: list[Json] = []
    about: Json = {}
    if kind != FileKind.SNAPSHOT:
        try:
            inspection = inspect_file(kind, text)
        except TraceError as error:
            raise field_error("file", f"{name}: {error}.") from None
        kind, lines = inspection.kind, inspection.lines
        problems = [{"line": line, "message": message} for line, message in inspection.problems]
        about = _inspection_to_json(inspection)
    return Upload(
        name=name,
        kind=kind,
        content=gzip.compress(text, 6, mtime=0),
        size=len(text),
        sha256=hashlib.sha256(text).hexdigest(),
        lines=lines,
        problems=problems,
        about=about,
    )


def _inspection_to_json(inspection: Inspection) -> Json:
    """Return the details of an inspection that are stored."""
    return {
        "columns": inspection.columns,
        "rows": inspection.rows,
        "usable": inspection.usable,
        "looked_at": inspection.looked_at,
        "objects": inspection.cost.objects,
        "span": inspection.span,
    }


def unpack_text(name: str, content: bytes, limit: int) -> bytes:
    """Return ``content``, decompressed if it is gzip; hold at most ``limit`` bytes of it."""
    text = content
    if content.startswith(_GZIP) and len(content) <= limit:
        try:
            with gzip.open(BytesIO(content)) as stream:
                # Reading stops at the limit, so that a small file cannot unpack to fill the memory.
                text = stream.read(limit + 1)
        except (EOFError, OSError, zlib.error):
            raise field_error("file", f"{name}: the gzip file is damaged or ends too early. Send it again.") from None
    if len(text) > limit:
        message = f"{name} is larger than this site takes ({limit // 1024 // 1024} MiB of text)."
        raise TooLarge.at("file", message)
    return text


def read_text(row: ScenarioFile) -> bytes:
    """Return the text of a stored file."""
    return gzip.decompress(bytes(row.content))


def field_error(path: str, message: str) -> ApplicationError:
    return ApplicationError.at(path, message)


def _clean_name(name: str) -> str:
    # Some browsers send the whole path of a file.
    name = name.replace("\\", "/").rpartition("/")[2].strip().removesuffix(".gz")
    if not _NAME.fullmatch(name):
        message = f"A file's name has letters, digits, dots, hyphens and spaces, and at most {NAME_LIMIT} characters."
        raise field_error("name", message)
    return name
