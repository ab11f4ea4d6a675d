"""Pods that a live loop has just judged, without a loop."""

from __future__ import annotations

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.live import JudgedPod
from kschedweb.engine.releases import load
from tests.support import seed


def judged(pod: str, nodes: int = 30, pods: int = 60) -> JudgedPod:
    """The pod ``pod`` of a made-up cluster, judged by the default policy."""
    snapshot = Snapshot.from_objects(seed.cluster(nodes, pods))
    configuration = load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n").configuration
    assert configuration is not None
    scheduler, pending_pod = Scheduler(snapshot, configuration), snapshot.get_pod(f"default/{pod}")
    return JudgedPod(snapshot, pending_pod, scheduler, scheduler.explain(pending_pod))
