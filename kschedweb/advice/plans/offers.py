"""Find out which nodes could go, in a job, once somebody has viewed the overview of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from django.db import transaction

from kschedweb.advice.plans import services
from kschedweb.advice.plans.models import Question
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import node_rows
from kschedweb.decisions.pending.services import default_revision
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.costs import Rates
from kschedweb.jobs.models import ENDED

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.jobs.models import Job

# Nobody asks this one, so the audit trail does not tell of it.
KIND = replace(services.KIND, task="plans.offer", verb="")


@transaction.atomic
def offer_later(*, snapshot: Snapshot) -> Job | None:
    """Start a job under the default policy, unless there is none, or a job for this cluster is still to be done."""
    revision = default_revision()
    if revision is None or not snapshot.counts.get("Node") or _is_offer_pending(snapshot):
        return None
    question = services.question_new(None, snapshot, revision, {})
    question.asked, question.offers = _choose_objective(snapshot), True
    title = f"Plan of moves: nodes of {snapshot.cluster.name} that could go"
    return KIND.ask(question, title, question.about).job


def _is_offer_pending(snapshot: Snapshot) -> bool:
    questions = Question.objects.filter(offers=True, ended_at=None, snapshot__cluster=snapshot.cluster)
    return questions.exclude(job__state__in=ENDED).filter(job__isnull=False).exists()


def _choose_objective(snapshot: Snapshot) -> Json:
    """Return the cost of a day as objective if any node has a price, else as many freed nodes as possible."""
    table = table_of(snapshot.cluster)
    rows = node_rows(snapshot).values_list("labels", flat=True)
    labels = [node_labels or {} for node_labels in rows] if table is not None else []
    priced = bool(labels) and not np.isnan(Rates.from_table(table, labels).price).all()
    return {"money": {"hours": 24}} if priced else {"nodes": {}}
