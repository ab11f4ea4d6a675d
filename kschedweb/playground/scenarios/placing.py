"""Puts the ready scenarios into the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.db import transaction

from kschedweb.engine.documents.marked import parse
from kschedweb.playground.scenarios import selectors, services
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.playground.scenarios.ready import all_ready, files_of, text_of
from kschedweb.playground.scenarios.signals import ready_placed
from kschedweb.policies import services as policies
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.models import Policy
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Collection

    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.scenarios.ready import Ready

logger = structlog.get_logger(__name__)

COMMENT = "Comes with the site"


def ready_place(*, keys: Collection[str] = ()) -> list[ScenarioRevision]:
    """Make or update every ready scenario to this version of the site; unchanged ones stay as they are.

    With ``keys``, only these. Copies belong to people and stay as they are.
    """
    placed = []
    for one in (one for one in all_ready() if not keys or one.key in keys):
        try:
            revision = _place(one)
        except ApplicationError as error:  # The site must start without it, too.
            logger.warning("a ready scenario cannot be put in place", scenario=one.key, reason=error.detail)
            continue
        placed.append(revision)
        ready_placed.send(Scenario, ready=one, revision=revision)
    return placed


@transaction.atomic
def _place(one: Ready) -> ScenarioRevision:
    text = _named(one, text_of(one))
    there = Scenario.objects.filter(pk=one.id).first()
    if there is None:
        _policy_place(one)
        there = services.scenario_create(
            text=text, author=None, built_in=True, files=files_of(one), id=one.id, comment=COMMENT
        )
    newest = selectors.revision_get(there)
    if newest.text == text:
        return newest
    _policy_place(one)
    for file in files_of(one):
        services.file_add(scenario=there, upload=file, author=None)
    return services.scenario_save(scenario=there, text=text, author=None, expected=newest.number, comment=COMMENT)


def _named(one: Ready, text: str) -> str:
    """``text`` with another name if a person has a scenario of that name."""
    data = parse(text).data
    if not Scenario.objects.filter(slug=services.slug_of(data["name"])).exclude(pk=one.id).exists():
        return text
    return rewrite(text, {**data, "name": f"{data['name']} (ready)"})


def _policy_place(one: Ready) -> None:
    """Make or update the policy; one that a person changed stays as it is."""
    policy = Policy.objects.filter(name=one.policy).first()
    if policy is None:
        said = "The policy of a ready scenario."
        policies.policy_create(
            name=one.policy, document=one.configuration, author=None, description=said, comment=COMMENT
        )
        return
    newest = policy.revisions.first()
    if newest is not None and newest.comment == COMMENT and newest.document != one.configuration:
        policies.revision_save(
            policy=policy, document=one.configuration, author=None, expected=newest.number, comment=COMMENT
        )
