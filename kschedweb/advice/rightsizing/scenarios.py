"""A scenario in which workloads request the recommended sizes, with an autoscaler that removes emptied nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from kschedweb.advice.rightsizing.exports import by_workload, format_quantity
from kschedweb.clusters.prices.selectors import prices_part, table_of
from kschedweb.clusters.selectors import node_rows
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.costs import Rates as Prices
from kschedweb.engine.studies.actors.autoscaler.keys import MOST_GROUPS
from kschedweb.engine.studies.document.limits import MOST_CHANGES
from kschedweb.engine.studies.document.workloads import CONTROLLERS
from kschedweb.playground.scenarios.selectors import revision_get
from kschedweb.playground.scenarios.services import name_free, scenario_create
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.accounts.models import User
    from kschedweb.advice.rightsizing.sizing import ContainerSize
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.scenarios.models import ScenarioRevision

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
LASTS = "1h"
DESCRIPTION = (
    "Workloads of the snapshot request what Right-size recommends. Nodes that are requested little then go, "
    "as cluster-autoscaler would let them, and their pods find other nodes."
)


def scenario_make(*, user: User, snapshot: Snapshot, listed: Sequence[ContainerSize]) -> ScenarioRevision:
    """Make the scenario of ``snapshot`` in which ``listed`` request the recommended sizes.

    Raises ``ApplicationError`` if nothing changes, or too much for one scenario.
    """
    groups = [(workload, group) for workload, group in by_workload(listed) if workload.split("/")[1] in CONTROLLERS]
    if not groups:
        raise ApplicationError("None of these workloads would request anything else: there is nothing to try.")
    if len(groups) > MOST_CHANGES:
        raise ApplicationError(f"A scenario has at most {MOST_CHANGES:,} changes: choose fewer workloads.")
    name = name_free(f"{snapshot.cluster.name} right-sized as of {snapshot.taken_at:%Y-%m-%d %H:%M}", user)
    document: Json = {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": name,
        "description": DESCRIPTION,
        "base": {"snapshot": str(snapshot.pk)},
        "changes": [
            {"setRequests": {"workload": workload, "containers": _request_quantities(group)}}
            for workload, group in groups
        ],
        **_build_autoscaler(snapshot),
        "run": {"place": "pending", "until": LASTS},
        **prices_part(snapshot.pk),
    }
    return revision_get(scenario_create(text=as_yaml(document), author=user, comment="Made by Right-size"))


def _request_quantities(group: Sequence[ContainerSize]) -> Json:
    return {
        size.container: {
            "cpu": format_quantity("cpu", size.cpu.target),
            "memory": format_quantity("memory", size.memory.target),
        }
        for size in group
    }


def _build_autoscaler(snapshot: Snapshot) -> Json:
    """Return a node group for each instance type; only the most common ones if a scenario cannot take them all."""
    rows = node_rows(snapshot).values_list("labels", "cpu_allocatable", "memory_allocatable")
    alike: dict[str, list[tuple[Json, int, int]]] = defaultdict(list)
    for labels, cpu, memory in rows:
        if labels and labels.get(INSTANCE_TYPE):
            alike[labels[INSTANCE_TYPE]].append((labels, cpu, memory))
    if not alike:
        return {}
    common_types = sorted(alike.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:MOST_GROUPS]
    table = table_of(snapshot.cluster)
    groups = []
    for place, (kind, nodes) in enumerate(common_types):
        group: Json = {
            "name": re.sub(r"[^a-z0-9-]+", "-", kind.lower()).strip("-")[:50] + f"-{place + 1}",
            "labels": {INSTANCE_TYPE: kind},
            "allocatable": {
                # The smallest node of a type stands for all, so that no pod fits only in the simulation.
                "cpu": f"{min(cpu for _, cpu, _ in nodes)}m",
                "memory": str(min(memory for _, _, memory in nodes)),
            },
            "max": len(nodes),
        }
        price = float(Prices.from_table(table, [nodes[0][0]]).price_per_node()[0]) if table else float("nan")
        groups.append(group | ({"price": round(price, 6)} if price == price else {}))
    return {"autoscaler": {"clusterAutoscaler": {"nodeGroups": groups, "scaleDown": {"threshold": 0.6}}}}
