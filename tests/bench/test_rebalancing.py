"""A descheduling dry run with landing places: 5,000 nodes, 50,000 pods whose constraints are violated in each app."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kschedweb.engine import Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from kschedweb.engine.studies.moves.dry_run import LANDS, DescheduledCluster, DryRun, bound_pods
from tests.bench.conftest import measure_milliseconds
from tests.engine.rebalancing.building import policy
from tests.engine.studies.clusters import ZONE, configuration, node, pod

NODES, PODS, APPS = 5_000, 50_000, 500
SECONDS, NOW = 10.0, 1_800_000_000.0
TIMES = 5  # what the dry run may take, of what reading the cluster takes


def crowded() -> list[Json]:
    """Pods that crowd on the first nodes, and that should be spread over three zones."""
    random = Random(7)
    objects = [node(f"node-{number:05}", f"zone-{number % 3}", cpu="16", memory="64Gi") for number in range(NODES)]
    for number in range(PODS):
        app, place = f"app-{number % APPS}", int(NODES * random.random() ** 1.5)
        selector = {"matchLabels": {"app": app}}
        rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        objects.append(
            pod(
                f"pod-{number}",
                f"node-{place:05}",
                cpu=f"{100 * (1 + number % 4)}m",
                owner=f"ReplicaSet/{app}",
                labels={"app": app},
                spec={"topologySpreadConstraints": [rule]},
            )
        )
    return objects


def test_a_dry_run_with_landing_places(report: Callable[..., None]) -> None:
    objects, clusters, dry_runs = crowded(), list[DescheduledCluster](), list[DryRun]()

    def read() -> None:
        snapshot = Snapshot.from_objects(objects)
        described, _ = DescribedCluster.from_objects(objects, bound_pods(snapshot))
        clusters.append(DescheduledCluster(described, snapshot, configuration()))

    reads = measure_milliseconds(read)
    rules = policy("balance", "RemovePodsViolatingTopologySpreadConstraint", {})
    runs = measure_milliseconds(lambda: dry_runs.append(clusters[0].run(rules, NOW)))
    [dry_run] = dry_runs
    assert dry_run.count(LANDS) > 1_000
    assert not dry_run.cycle.outcome.plugin_errors
    report(f"dry run with landing places, {NODES:,} nodes", [reads + runs], SECONDS * 1000, "reading the cluster too")
    assert runs <= TIMES * reads, f"the dry run takes {runs / reads:.1f} times as long as reading, at most {TIMES}"
