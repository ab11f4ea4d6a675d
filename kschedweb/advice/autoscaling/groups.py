"""Node groups of cluster-autoscaler as typed into a question, and the answer in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.snapshots import engine_snapshot, has_read
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.documents.marked_documents import MarkedDocumentError, as_yaml, parse_document, place_problem
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling import advice
from kschedweb.engine.studies.actors.autoscaler.keys import CLUSTER_AUTOSCALER, MOST_GROUPS
from kschedweb.policies.revisions.services import InvalidRevision
from kschedweb.policies.selectors import DEFAULT_POLICY, load_configuration, policy_get, revision_get
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.simulation.autoscaling.cluster_look import NodeGroups
    from kschedweb.policies.models import Revision

READY = """\
# One node group for each instance type and zone of the nodes, at most twice as many nodes as there are.
# Prices are missing: put yours in, as price, for the expander price.
"""
EXAMPLE = {"name": "general", "allocatable": {"cpu": "4", "memory": "16Gi"}, "max": 10, "price": 0.2}


class NotGroups(InvalidRevision):
    default_detail = "These are not node groups that can be asked about."


def groups_read(document: str) -> NodeGroups:
    """Read the node groups of ``document``, in the form below ``clusterAutoscaler`` of a scenario. Raise NotGroups."""
    try:
        parsed = parse_document(document)
    except MarkedDocumentError as error:
        raise NotGroups([error.problem]) from None
    problems: list[DocumentProblem] = []
    node_groups: NodeGroups = CLUSTER_AUTOSCALER.read(parsed.data, "", problems)
    if problems:
        raise NotGroups([place_problem(parsed, problem.path, problem.text) for problem in problems])
    return node_groups


def ready_document(snapshot: Snapshot) -> str:
    """Return node groups to begin with, derived from the nodes of the snapshot."""
    if has_read(snapshot):
        engine = engine_snapshot(snapshot)
    else:
        # Reading only the nodes is quick, even for a large cluster.
        engine = rules_of(snapshot).release.build_snapshot(
            raw for raw in snapshot_objects(snapshot) if raw.get("kind") == "Node"
        )
    groups = advice.derive_node_groups(engine.nodes)[:MOST_GROUPS]
    return READY + as_yaml({"expander": "least-waste", "nodeGroups": groups or [EXAMPLE]})


def render_sentence(answer: Json) -> str:
    """Return what cluster-autoscaler would do, in one sentence."""
    new = sum(look["count"] for look in answer["looks"])
    removed = sum(node["verdict"] == advice.GOES for node in answer["nodes"])
    pods = sum(len(node) for look in answer["looks"] for node in look["pods"])
    parameters = {
        "new": format_count(new, "nodes"),
        "pods": format_count(pods, "pods"),
        "gone": format_count(removed, "nodes"),
    }
    if new and removed:
        both = gettext(
            "cluster-autoscaler would add %(new)s for %(pods)s and remove %(gone)s once unneeded for long enough"
        )
        return both % parameters
    if new:
        return gettext("cluster-autoscaler would add %(new)s for %(pods)s") % parameters
    if removed:
        return gettext("cluster-autoscaler would remove %(gone)s once unneeded for long enough") % parameters
    return gettext("cluster-autoscaler would leave the cluster as it is")


def rules_of(snapshot: Snapshot) -> Configuration:
    """Return kube-scheduler's default filters, which cluster-autoscaler runs as well."""
    return load_configuration(revision_of_rules(), snapshot.cluster.server_version)


def revision_of_rules() -> Revision:
    return revision_get(policy_get(DEFAULT_POLICY))
