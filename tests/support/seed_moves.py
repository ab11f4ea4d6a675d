"""Questions which pods would move, reached as REST reaches them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.migration.models import Question
    from kschedweb.policies.models import Revision

# Fills nodes up, and does not look at taints: what it is converted to differs from today's default by both.
FILLING = json.dumps(
    {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "GeneralPredicates"}, {"name": "NoDiskConflict"}],
        "priorities": [{"name": "MostRequestedPriority", "weight": 2}, {"name": "SelectorSpreadPriority", "weight": 1}],
    },
    indent=2,
)


def classic(user: User, name: str = "filling") -> Revision:
    """The first revision of a classic policy that fills nodes up."""
    from kschedweb.policies.selectors import revision_get
    from kschedweb.policies.services import policy_create

    return revision_get(policy_create(name=name, document=FILLING, author=user))


def question(user: User, snapshot: Snapshot, old: Revision) -> Question:
    """Against the default profile, about all pods of ``snapshot``."""
    from kschedweb.playground.migration import services
    from kschedweb.policies.selectors import policy_get, revision_get

    query = services.MigrationQuery(old, revision_get(policy_get("default")), snapshot, bound=True)
    return services.question_ask(user=user, query=query)


def questions(rows: int, user: User, snapshot: str) -> str:
    """``rows`` questions; the id of one."""
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.migration.models import Question

    snapshot_row = Snapshot.objects.select_related("cluster").get(pk=snapshot)
    first = question(user, snapshot_row, classic(user)).pk
    for _ in range(rows - 1):
        copied = Question.objects.get(pk=first)
        copied.pk = None
        copied._state.adding = True
        copied.id = Question._meta.pk.get_default()
        copied.save()
    return str(first)
