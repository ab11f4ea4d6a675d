"""Put the ready scenarios into the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.db import transaction

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.playground.scenarios import selectors, services
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.playground.scenarios.ready import all_ready, files_of, text_of
from kschedweb.playground.scenarios.signals import ready_placed
from kschedweb.policies import services as policies
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.policies.models import Policy
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Collection

    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.scenarios.ready import Ready

logger = structlog.get_logger(__name__)

# Comment of revisions that this module saves; it also marks a policy that no person has changed.
COMMENT = "Comes with the site"


def ready_place(*, keys: Collection[str] = ()) -> list[ScenarioRevision]:
    """Create every ready scenario, or update it to this version of the site; unchanged ones stay as they are.

    With ``keys``, only these. Copies belong to people and stay as they are.
    """
    placed = []
    for ready in (ready for ready in all_ready() if not keys or ready.key in keys):
        try:
            revision = _place_scenario(ready)
        # The site must start without the scenario, too.
        except ApplicationError as error:
            logger.warning("a ready scenario cannot be put in place", scenario=ready.key, reason=error.detail)
            continue
        placed.append(revision)
        ready_placed.send(Scenario, ready=ready, revision=revision)
    return placed


@transaction.atomic
def _place_scenario(ready: Ready) -> ScenarioRevision:
    """Create or update a ready scenario with its files and its policy, and return its newest revision."""
    text = _with_free_name(ready, text_of(ready))
    scenario = Scenario.objects.filter(pk=ready.id).first()
    if scenario is None:
        _policy_place(ready)
        scenario = services.scenario_create(
            text=text, author=None, built_in=True, files=files_of(ready), id=ready.id, comment=COMMENT
        )
    newest = selectors.revision_get(scenario)
    if newest.text == text:
        return newest
    _policy_place(ready)
    # The demo cluster of a new version has another id, so the old file stays for older revisions.
    for file in files_of(ready):
        services.file_add(scenario=scenario, upload=file, author=None)
    return services.scenario_save(scenario=scenario, text=text, author=None, expected=newest.number, comment=COMMENT)


def _with_free_name(ready: Ready, text: str) -> str:
    """Return ``text`` with another name if a person has a scenario of that name."""
    data = parse_document(text).data
    if not Scenario.objects.filter(slug=services.slug_of(data["name"])).exclude(pk=ready.id).exists():
        return text
    return rewrite_yaml(text, {**data, "name": f"{data['name']} (ready)"})


def _policy_place(ready: Ready) -> None:
    """Create or update the policy; one that a person changed stays as it is."""
    policy = Policy.objects.filter(name=ready.policy).first()
    if policy is None:
        description = "The policy of a ready scenario."
        policies.policy_create(
            name=ready.policy, document=ready.configuration, author=None, description=description, comment=COMMENT
        )
        return
    newest = policy.revisions.first()
    if newest is not None and newest.comment == COMMENT and newest.document != ready.configuration:
        policies.revision_save(
            policy=policy, document=ready.configuration, author=None, expected=newest.number, comment=COMMENT
        )
