"""The scenarios that come with the site: a YAML file each, in two documents.

The first says what the page beside it shows: ``order`` among the others, ``source``, a ``sentence``, the ``story`` and
``tries`` as paragraphs (`code` between backquotes), the ``pod`` whose decision it is about, and the ``policy`` that it
is run under, a file of ``policies``. The second is the scenario itself. ``brings: demo`` gives it the demo cluster,
whose id takes the place of BROUGHT.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext

from kschedweb.clusters import demo, demo_catalog
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.playground.scenarios import transfer, uploads
from kschedweb.playground.scenarios.models import FileKind

FOLDER = Path(__file__).parent
POLICIES = FOLDER / "policies"
IDS = UUID("5f2a3c1e-7c0b-4f39-9a55-3d1b7a0c9e61")  # namespace of the ids of ready scenarios
BROUGHT = "BROUGHT"
LIMIT = 1 << 26  # bytes of a scenario's own cluster


@dataclass(frozen=True)
class Ready:
    """A ready scenario; ``key`` is the file's name, ``text`` its document."""

    key: str
    text: str
    order: int
    source: str
    sentence: str
    policy: str
    story: tuple[str, ...]
    tries: tuple[str, ...] = ()
    pod: str = ""
    brings: str = ""

    @property
    def id(self) -> UUID:
        """The id, which is the same on every site, so that addresses stay valid."""
        return uuid5(IDS, self.key)

    @property
    def translated(self) -> Ready:
        """The same in the language of the reader."""
        return replace(
            self,
            source=gettext(self.source),
            sentence=gettext(self.sentence),
            story=tuple(map(gettext, self.story)),
            tries=tuple(map(gettext, self.tries)),
        )

    @property
    def configuration(self) -> str:
        """The document of its policy."""
        return (POLICIES / f"{self.policy}.yaml").read_text(encoding="utf-8")

    @property
    def namespace(self) -> str:
        return self.pod.partition("/")[0]

    @property
    def pod_name(self) -> str:
        return self.pod.partition("/")[2]


@cache
def all_ready() -> tuple[Ready, ...]:
    """All ready scenarios in order."""
    return tuple(sorted((_read_ready(path) for path in FOLDER.glob("*.yaml")), key=lambda ready: ready.order))


def ready_of(scenario_id: UUID) -> Ready | None:
    """The ready scenario of this id; ``None`` if this version of the site has none."""
    return next((ready for ready in all_ready() if ready.id == scenario_id), None)


def text_of(ready: Ready) -> str:
    """The document as it is stored, with the id of its own cluster."""
    return ready.text.replace(BROUGHT, str(_demo_id())) if ready.brings else ready.text


def files_of(ready: Ready) -> list[uploads.Upload]:
    """The scenario's own cluster, generated, as the file of an imported scenario."""
    if not ready.brings:
        return []
    snapshot = str(_demo_id())
    body = {"id": snapshot, "cluster": "demo", "takenAt": demo.NOW.timestamp(), "objects": demo.generate_cluster()}
    content = json.dumps(body, separators=(",", ":")).encode()
    return [uploads.read_upload(transfer.snapshot_file(snapshot), content, limit=LIMIT, kind=FileKind.SNAPSHOT)]


@cache
def _demo_id() -> UUID:
    """The id of the demo, from the source that generates it: generating it at each start to compare takes seconds."""
    return uuid5(IDS, "".join(Path(str(part.__file__)).read_text(encoding="utf-8") for part in (demo, demo_catalog)))


def _read_ready(path: Path) -> Ready:
    header, _, text = path.read_text(encoding="utf-8").partition("---\n")
    fields: dict[str, Any] = parse_document(header).data
    return Ready(key=path.stem, text=text, **{name: _to_tuple(value) for name, value in fields.items()})


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
