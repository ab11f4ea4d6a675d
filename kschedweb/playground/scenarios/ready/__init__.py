"""The scenarios that come with the site: a YAML file each, in two documents.

The first document has the text of the page: ``order`` among the others, ``source``, a ``sentence``, the ``story``
and ``tries`` as paragraphs (`code` between backquotes), the ``pod`` whose decision is explained, and the ``policy``
of the run, a file of ``policies``. The second document is the scenario. ``brings: demo`` gives it the demo cluster,
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
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios import transfer, uploads
from kschedweb.playground.scenarios.models import FileKind

FOLDER = Path(__file__).parent
POLICIES = FOLDER / "policies"
# Namespace of the ids of ready scenarios; it must never change, or every site gets them twice.
IDS = UUID("5f2a3c1e-7c0b-4f39-9a55-3d1b7a0c9e61")
# Placeholder in a document for the id of the scenario's own cluster.
BROUGHT = "BROUGHT"
# Bytes of a scenario's own cluster (64 MiB).
LIMIT = 1 << 26


@dataclass(frozen=True)
class Ready:
    """A scenario that comes with the site."""

    # Name of the file, without .yaml.
    key: str
    # Document of the scenario.
    text: str
    # Position among the others.
    order: int
    source: str
    sentence: str
    # Name of a file of POLICIES, without .yaml.
    policy: str
    # Paragraphs of the page.
    story: tuple[str, ...]
    tries: tuple[str, ...] = ()
    # Pod whose decision is explained, as namespace/name.
    pod: str = ""
    # "demo" if the scenario brings the demo cluster with it.
    brings: str = ""

    @property
    def id(self) -> UUID:
        """The id, which is the same on every site, so that addresses stay valid."""
        return uuid5(IDS, self.key)

    @property
    def translated(self) -> Ready:
        """The same scenario with its texts in the language of the reader."""
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
    """Return all ready scenarios in order."""
    return tuple(sorted((_read_ready(path) for path in FOLDER.glob("*.yaml")), key=lambda ready: ready.order))


def ready_of(scenario_id: UUID) -> Ready | None:
    """Return the ready scenario of this id; ``None`` if this version of the site has none."""
    return next((ready for ready in all_ready() if ready.id == scenario_id), None)


def text_of(ready: Ready) -> str:
    """Return the document as it is stored, with the id of its own cluster."""
    return ready.text.replace(BROUGHT, str(_demo_id())) if ready.brings else ready.text


def files_of(ready: Ready) -> list[uploads.Upload]:
    """Return the scenario's own cluster, generated, as the file of an imported scenario."""
    if not ready.brings:
        return []
    snapshot = str(_demo_id())
    body = {"id": snapshot, "cluster": "demo", "takenAt": demo.NOW.timestamp(), "objects": demo.generate_cluster()}
    content = json.dumps(body, separators=(",", ":")).encode()
    return [uploads.read_upload(transfer.snapshot_file(snapshot), content, limit=LIMIT, kind=FileKind.SNAPSHOT)]


@cache
def _demo_id() -> UUID:
    """Return the id of the demo cluster, from the source code that generates it.

    Generating the cluster at each start just to compare it would take seconds.
    """
    return uuid5(IDS, "".join(Path(str(part.__file__)).read_text(encoding="utf-8") for part in (demo, demo_catalog)))


def _read_ready(path: Path) -> Ready:
    header, _, text = path.read_text(encoding="utf-8").partition("---\n")
    fields: Json = parse_document(header).data
    return Ready(key=path.stem, text=text, **{name: _to_tuple(value) for name, value in fields.items()})


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
