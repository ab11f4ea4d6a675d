"""Answers what cluster-autoscaler would do with node groups that the question brings, in the request."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.documents.marked import DocumentError, as_yaml, parse, placed
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.simulation.autoscaling import advising
from kschedweb.engine.studies.document.autoscalers import CLUSTER_AUTOSCALER, MOST_GROUPS
from kschedweb.jobs.inquiries import Busy, NotNow, at_once
from kschedweb.policies.revisions.services import InvalidDocument
from kschedweb.policies.selectors import DEFAULT_POLICY, configuration, policy_get, revision_get
from kschedweb.web.errors import Conflict, Unprocessable
from kschedweb.web.lru import LRU
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.simulation.autoscaling.looking import NodeGroups
    from kschedweb.policies.models import Revision

Json = dict[str, Any]
SECONDS = 20.0  # for an answer
TOO_LONG = "This takes longer than a page may. Play a scenario of this snapshot with this autoscaler, which a job does."
READY = """\
# One node group for each instance type and zone of the nodes, at most twice as many nodes as there are.
# Prices are missing: put yours in, as price, for the expander price.
"""
EXAMPLE = {"name": "general", "allocatable": {"cpu": "4", "memory": "16Gi"}, "max": 10, "price": 0.2}
_turn = Lock()
_answers: LRU[Json] = LRU(16)


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
    engine = _rules(snapshot).release.seen(one for one in snapshot_objects(snapshot) if one.get("kind") == "Node")
    groups = advising.ready_groups(engine.nodes)[:MOST_GROUPS]
    return READY + as_yaml({"expander": "least-waste", "nodeGroups": groups or [EXAMPLE]})


def answer(*, snapshot: Snapshot, document: str) -> Json:
    """What cluster-autoscaler would do; raises NotGroups, Conflict, or Unprocessable if too long."""
    told = groups_read(document)
    key = snapshot.pk, document, _revision().pk, snapshot.cluster.server_version
    return _answers.get(key, lambda: _worked_out(snapshot, told))


def forget() -> None:
    """Clear the cache; for tests, which use primary keys again."""
    _answers.clear()


def sentence(found: Json) -> str:
    """What cluster-autoscaler would do."""
    parts = []
    if new := sum(one["count"] for one in found["looks"]):
        pods = sum(len(node) for one in found["looks"] for node in one["pods"])
        parts.append(f"add {counted(new, 'nodes')} for {counted(pods, 'pods')}")
    if gone := sum(one["verdict"] == advising.GOES for one in found["nodes"]):
        parts.append(f"remove {counted(gone, 'nodes')} once unneeded for long enough")
    return f"cluster-autoscaler would {' and '.join(parts) or 'leave the cluster as it is'}"


def _worked_out(snapshot: Snapshot, told: NodeGroups) -> Json:
    rules, objects = _rules(snapshot), snapshot_objects(snapshot)
    try:
        with at_once(_turn, SECONDS) as step:
            engine = rules.release.seen(objects)
            engine.now = snapshot.taken_at.timestamp()
            return advising.advise(told, engine, rules, step)
    except Busy:
        raise Conflict("Another question about node groups is being worked on: ask again in a moment.") from None
    except NotNow:
        raise Unprocessable(TOO_LONG) from None
    except ObjectError as error:
        raise Unprocessable(str(error)) from None


def _rules(snapshot: Snapshot) -> Configuration:
    """kube-scheduler's own filters, as cluster-autoscaler asks them."""
    return configuration(_revision(), snapshot.cluster.server_version)


def _revision() -> Revision:
    return revision_get(policy_get(DEFAULT_POLICY))
