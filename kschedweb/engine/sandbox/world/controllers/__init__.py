"""Controllers: each looks at an object of its kind, and brings the cluster a step nearer to what it says."""

from __future__ import annotations

from kschedweb.engine.sandbox.world.context import Context, Controller
from kschedweb.engine.sandbox.world.controllers.budgets import Budgets
from kschedweb.engine.sandbox.world.controllers.claims import EphemeralVolumes, ResourceClaims
from kschedweb.engine.sandbox.world.controllers.daemonsets import DaemonSets
from kschedweb.engine.sandbox.world.controllers.deployments import Deployments
from kschedweb.engine.sandbox.world.controllers.garbage import Garbage
from kschedweb.engine.sandbox.world.controllers.jobs import Jobs
from kschedweb.engine.sandbox.world.controllers.namespaces import Namespaces
from kschedweb.engine.sandbox.world.controllers.nodes import NodeLives
from kschedweb.engine.sandbox.world.controllers.podgarbage import PodGarbage
from kschedweb.engine.sandbox.world.controllers.replicasets import ReplicaSets
from kschedweb.engine.sandbox.world.controllers.statefulsets import StatefulSets
from kschedweb.engine.sandbox.world.controllers.volumes import Volumes
from kschedweb.engine.sandbox.world.kubelets.nodes import NodeKubelet
from kschedweb.engine.sandbox.world.kubelets.pods import PodKubelet
from kschedweb.engine.sandbox.world.resources import REPLICA_SET, REPLICATION_CONTROLLER


def controllers(context: Context) -> list[Controller]:
    """All that a cluster has without its scheduler."""
    return [
        NodeKubelet(context),
        NodeLives(context),
        PodKubelet(context),
        Namespaces(context),
        Garbage(context),
        PodGarbage(context),
        Deployments(context),
        ReplicaSets(context, REPLICA_SET, "replicaset-controller"),
        ReplicaSets(context, REPLICATION_CONTROLLER, "replication-controller"),
        StatefulSets(context),
        DaemonSets(context),
        Jobs(context),
        Budgets(context),
        Volumes(context),
        EphemeralVolumes(context),
        ResourceClaims(context),
    ]
