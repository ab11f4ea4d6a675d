"""The scenario of a snapshot, on which a changed policy is run: its pods placed anew, its use as it was collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.clusters.prices.selectors import prices_part
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.jobs.inquiries import AT_ONCE_SIZE
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.playground.scenarios.selectors import newest_revisions, revision_get
from kschedweb.playground.scenarios.services import InvalidScenario, name_free, scenario_create

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.scenarios.models import ScenarioRevision

DAY = "24h"
DESCRIPTION = "The pods of the snapshot are placed anew, and use what was collected of them."


def scenario_of(snapshot: Snapshot, user: User) -> ScenarioRevision:
    """Return the scenario that ``user`` has of ``snapshot`` (see ``scenario_texts``); create it if it is missing."""
    revisions = newest_revisions().filter(scenario__created_by=user, snapshot=snapshot)
    name = _scenario_name(snapshot)
    for text in scenario_texts(snapshot, name):
        if (revision := revisions.filter(text=text).first()) is not None:
            return revision
    free = name_free(name, user)
    # Whether the wanted figures exist is known only once they are read: a try fails without them.
    for text in scenario_texts(snapshot, free):
        with suppress(InvalidScenario), transaction.atomic():
            return revision_get(scenario_create(text=text, author=user))
    scenario: Scenario = scenario_create(text=_document_text(snapshot, free), author=user)
    return revision_get(scenario)


def scenario_texts(snapshot: Snapshot, name: str) -> Iterator[str]:
    """Yield possible documents, the best first: with a day of collected use, with the figures of now, without use."""
    # Only small clusters, since a day of use takes long to play on a large one.
    if snapshot.size <= AT_ONCE_SIZE:
        yield _document_text(snapshot, name, use={"from": "history", "window": DAY}, run={"until": DAY})
    yield _document_text(snapshot, name, use={"from": "watermarks"})
    yield _document_text(snapshot, name)


def _scenario_name(snapshot: Snapshot) -> str:
    return f"{snapshot.cluster.name} as of {snapshot.taken_at:%Y-%m-%d %H:%M}"


def _document_text(snapshot: Snapshot, name: str, **more: Any) -> str:
    fields = {"name": name, "description": DESCRIPTION, "base": {"snapshot": str(snapshot.pk)}}
    return as_yaml({"apiVersion": "kschedweb/v1", "kind": "Scenario", **fields, **more, **prices_part(snapshot.pk)})
