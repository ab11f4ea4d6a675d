"""Node groups of cluster-autoscaler as a question brings them, and its answer in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.snapshots import engine_snapshot, has_read
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.documents.marked import DocumentError, as_yaml, parse, placed
from kschedweb.engine.simulation.autoscaling import advising
from kschedweb.engine.studies.document.autoscalers import CLUSTER_AUTOSCALER, MOST_GROUPS
from kschedweb.policies.revisions.services import InvalidDocument
from kschedweb.policies.selectors import DEFAULT_POLICY, configuration, policy_get, revision_get
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.simulation.autoscaling.looking import NodeGroups
    from kschedweb.policies.models import Revision

Json = dict[str, Any]
READY = """\
# One node group for each instance type and zone of the nodes, at most twice as many nodes as there are.
# Prices are missing: put yours in, as price, for the expander price.
"""
EXAMPLE = {"name": "general", "allocatable": {"cpu": "4", "memory": "16Gi"}, "max": 10, "price": 0.2}


class NotGroups(InvalidDocument):
    said = "These are not node groups that can be asked about."


def groups_read(document: str) -> NodeGroups:
    """The node groups of ``document``, as a scenario has them below ``clusterAutoscaler``; raises NotGroups."""
    try:
        written = parse(document)
    except DocumentError as error:
        raise NotGroups([error.problem]) from None
    problems: list[DocumentProblem] = []
    found: NodeGroups = CLUSTER_AUTOSCALER.read(written.data, "", problems)
    if problems:
        raise NotGroups([placed(written, one.path, one.text) for one in problems])
    return found


def ready_document(snapshot: Snapshot) -> str:
    """Node groups to begin with, from the nodes of the snapshot."""
    if has_read(snapshot):
        engine = engine_snapshot(snapshot)
    else:
        engine = rules_of(snapshot).release.seen(one for one in snapshot_objects(snapshot) if one.get("kind") == "Node")
    groups = advising.ready_groups(engine.nodes)[:MOST_GROUPS]
    return READY + as_yaml({"expander": "least-waste", "nodeGroups": groups or [EXAMPLE]})


def sentence(found: Json) -> str:
    """What cluster-autoscaler would do."""
    new = sum(one["count"] for one in found["looks"])
    gone = sum(one["verdict"] == advising.GOES for one in found["nodes"])
    pods = sum(len(node) for one in found["looks"] for node in one["pods"])
    said = {"new": counted(new, "nodes"), "pods": counted(pods, "pods"), "gone": counted(gone, "nodes")}
    if new and gone:
        both = gettext(
            "cluster-autoscaler would add %(new)s for %(pods)s and remove %(gone)s once unneeded for long enough"
        )
        return both % said
    if new:
        return gettext("cluster-autoscaler would add %(new)s for %(pods)s") % said
    if gone:
        return gettext("cluster-autoscaler would remove %(gone)s once unneeded for long enough") % said
    return gettext("cluster-autoscaler would leave the cluster as it is")


def rules_of(snapshot: Snapshot) -> Configuration:
    """kube-scheduler's own filters, as cluster-autoscaler asks them."""
    return configuration(revision_of_rules(), snapshot.cluster.server_version)


def revision_of_rules() -> Revision:
    return revision_get(policy_get(DEFAULT_POLICY))
