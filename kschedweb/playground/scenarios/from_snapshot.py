"""Scenarios that begin with a snapshot, made by other pages."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.clusters.prices.selectors import prices_part
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios.services import InvalidScenario, name_free, scenario_create

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.scenarios.models import Scenario


def scenario_on(snapshot: Snapshot, *, name: str, description: str, parts: Json, author: User) -> Scenario:
    """Create a scenario on ``snapshot`` with these ``parts`` of a document, and with its watermarks if there are any.

    A taken name gets a number. Raises InvalidScenario.
    """
    free = name_free(name, author)
    # Whether figures of use exist is known only once they are read: the first try fails without them.
    for use in ({"use": {"from": "watermarks"}}, {}):
        with suppress(InvalidScenario), transaction.atomic():
            return scenario_create(text=_document_text(snapshot, free, description, {**parts, **use}), author=author)
    return scenario_create(text=_document_text(snapshot, free, description, parts), author=author)


def _document_text(snapshot: Snapshot, name: str, description: str, parts: Json) -> str:
    document = {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": name,
        "description": description,
        "base": {"snapshot": str(snapshot.pk)},
        **parts,
        **prices_part(snapshot.pk),
    }
    return as_yaml(document)
