"""The groups of pods of a cluster, and whether one of them fits."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.groups import answers, services
from kschedweb.decisions.models import Question
from kschedweb.decisions.node_map import map_placements
from kschedweb.decisions.views import snapshot_and_revision
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.watermarks import node_maps
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy
from kschedweb.web.nodemap.nodemap import MapChoice

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.json_types import Json

# Groups, or pods of one group.
PAGE_SIZE = 100
# Blocks that a group shows, and the count of each kind.
MOST_BLOCKS = 60
# States of pods that have a node, or would get one.
WITH_NODE = frozenset({"bound", "fits", "waits"})
BLOCKS = {"bound": "bound", "stuck": "pending", "missing": "missing"}


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def list_groups(request: PageRequest, cluster: str) -> HttpResponse:
    """Show all groups, each with its state."""
    snapshot, revision = snapshot_and_revision(request, cluster)
    groups = answers.list_groups(request.user, snapshot)
    if isinstance(groups, Question):
        return redirect("decision-answer", groups.pk)
    page = Paginator(groups, PAGE_SIZE).get_page(request.GET.get("page"))
    page.object_list = [group | {"blocks": _list_blocks(group)} for group in page.object_list]
    context = {
        "snapshot": snapshot,
        "revision": profiles_only(revision),
        "cluster_name": cluster,
        "rules": services.read_rules(snapshot, revision),
        "page": page,
    }
    return render(request, "decisions/groups/list.html", context)


def _list_blocks(group: Json) -> list[str]:
    """Return the block of each pod: on a node, without one, or missing from the group."""
    kinds = [kind for kind, key in BLOCKS.items() for _ in range(group[key])]
    return kinds[:MOST_BLOCKS]


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def show_group(request: PageRequest, cluster: str, namespace: str, group: str) -> HttpResponse:
    """Show one group: whether it fits, where its pods go, and what prevents it."""
    snapshot, chosen = snapshot_and_revision(request, cluster)
    scheduler, waits = services.find_responsible(snapshot, f"{namespace}/{group}", profiles_only(chosen))
    revision = (scheduler and scheduler.revision) or chosen
    scope_of(request).revision = revision
    context: dict[str, object] = {
        "snapshot": snapshot,
        "revision": revision,
        "chosen": chosen,
        "scheduler": scheduler,
        "waits": waits,
        "cluster_name": cluster,
        "namespace_name": namespace,
        "group_name": group,
        "revisions": revision.policy.revisions.defer("document")[:8],
    }
    try:
        switch = request.GET.get("gates") == "on"
        parameters = {"policy": revision.policy.name, "revision": revision.number, "snapshot": snapshot.pk}
        context["json_query"] = urlencode(parameters | ({"gates": "on"} if switch else {}))
        group_page = answers.answer_for_page(request.user, snapshot, revision, f"{namespace}/{group}", switch=switch)
    except ApplicationError as error:
        if error.status == 404:
            raise
        return render(request, "decisions/groups/failed.html", {**context, "error": error})
    if isinstance(group_page, Question):
        return redirect("decision-answer", group_page.pk)
    page = Paginator(group_page.members, PAGE_SIZE).get_page(request.GET.get("page"))
    nodes = (member.node for member in group_page.members if member.state in WITH_NODE)
    choice = MapChoice.from_address(request.GET)
    context |= {"group_page": group_page, "answer": group_page.answer, "page": page}
    context["map"] = map_placements(snapshot, nodes, choice) or node_maps.map_snapshot(snapshot, choice)
    return render(request, "decisions/groups/group.html", context)
