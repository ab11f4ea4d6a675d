"""Controllers: each looks at an object of its kind, and brings the cluster a step nearer to its spec."""

from __future__ import annotations

from kschedweb.engine.sandbox.world.context import Controller, SandboxContext
from kschedweb.engine.sandbox.world.controllers.budgets import DisruptionController
from kschedweb.engine.sandbox.world.controllers.claims import EphemeralVolumeController, ResourceClaimController
from kschedweb.engine.sandbox.world.controllers.daemonsets import DaemonSetController
from kschedweb.engine.sandbox.world.controllers.deployments import DeploymentController
from kschedweb.engine.sandbox.world.controllers.garbage_collector import GarbageCollector
from kschedweb.engine.sandbox.world.controllers.jobs import JobController
from kschedweb.engine.sandbox.world.controllers.namespaces import NamespaceController
from kschedweb.engine.sandbox.world.controllers.nodes import NodeLifecycleController
from kschedweb.engine.sandbox.world.controllers.podgc import PodGCController
from kschedweb.engine.sandbox.world.controllers.quota_queues import QuotaQueueController
from kschedweb.engine.sandbox.world.controllers.replicasets import ReplicaSetController
from kschedweb.engine.sandbox.world.controllers.statefulsets import StatefulSetController
from kschedweb.engine.sandbox.world.controllers.volumes import PersistentVolumeController
from kschedweb.engine.sandbox.world.kubelets.nodes import NodeKubelet
from kschedweb.engine.sandbox.world.kubelets.pods import PodKubelet
from kschedweb.engine.sandbox.world.resources import REPLICA_SET, REPLICATION_CONTROLLER


def make_controllers(context: SandboxContext) -> list[Controller]:
    """Return all controllers and kubelets of a cluster; a scheduler is not among them."""
    return [
        NodeKubelet(context),
        NodeLifecycleController(context),
        PodKubelet(context),
        NamespaceController(context),
        GarbageCollector(context),
        PodGCController(context),
        DeploymentController(context),
        ReplicaSetController(context, REPLICA_SET, "replicaset-controller"),
        ReplicaSetController(context, REPLICATION_CONTROLLER, "replication-controller"),
        StatefulSetController(context),
        DaemonSetController(context),
        JobController(context),
        QuotaQueueController(context),
        DisruptionController(context),
        PersistentVolumeController(context),
        EphemeralVolumeController(context),
        ResourceClaimController(context),
    ]
