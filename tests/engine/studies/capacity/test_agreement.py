"""Capacity, gangs and a run of the same pods come to the same: whoever places pods binds their volumes and devices."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import PodArrives, SimulationSettings
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.capacity import fit_clones
from kschedweb.engine.studies.capacity.gangs import Gang, fit_gangs
from kschedweb.engine.studies.capacity.shapes import PodShape, pod_shape
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.gangs import configured
from tests.engine.plugins.test_dynamicresources import claim as resource_claim
from tests.engine.plugins.test_dynamicresources import device_class, devices
from tests.engine.storage import DRIVER, claim, csi_node, on_nodes, storage_class, volume
from tests.engine.studies.clusters import HOSTNAME, ZONE, node, pod, snapshot
from tests.support import tiers

GPU = "example.com/gpu"
LIMIT = 12


def in_zones(csi: Json) -> Json:
    """The CSINode, whose driver provisions volumes for the zone of the node."""
    (driver,) = csi["spec"]["drivers"]
    return {**csi, "spec": {"drivers": [{**driver, "topologyKeys": [ZONE]}]}}


def claimed(*names: str) -> Json:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


TO_PROVISION, LOCAL = (
    {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class_name,
    }
    for storage_class_name in ("disk", "local")
)
WANTS: dict[str, Json] = {
    "cpu alone": {},
    "a claim to be provisioned": claimed("provisioned"),
    "a claim for a local volume": claimed("local"),
    "two claims": claimed("provisioned", "local"),
    "an ephemeral volume": {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": TO_PROVISION}}}]},
    "an ephemeral local volume": {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": LOCAL}}}]},
    "a device from a template": {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "one"}]},
    "a shared device": {"resourceClaims": [{"name": "d", "resourceClaimName": "shared"}]},
    "a shared device and a claim": {
        "resourceClaims": [{"name": "d", "resourceClaimName": "shared"}],
        **claimed("provisioned"),
    },
}
nodes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 4), st.integers(0, 2), st.integers(0, 2)),
                 min_size=1, max_size=4)  # fmt: skip


def cluster_of(listed: list[tuple[str, int, int, int]], local_on: set[int]) -> list[Json]:
    """Nodes by zone, cores, most volumes and devices; some have a local volume."""
    objects: list[Json] = [storage_class(), storage_class("disk", DRIVER), device_class("gpu", GPU)]
    objects += [claim("provisioned", storageClassName="disk"), claim("local"), resource_claim("shared")]
    template = {"spec": resource_claim("any")["spec"]}
    objects += [
        {"kind": "ResourceClaimTemplate", "metadata": {"name": "one", "namespace": "default"}, "spec": template}
    ]
    for at, (zone, cpu, volumes, gpus) in enumerate(listed):
        objects.append(node(f"n{at}", zone, cpu=str(cpu)))
        objects.append(in_zones(csi_node(f"n{at}", csi_example_com=volumes)))
        objects += [devices(f"n{at}", gpus)] if gpus else []
        objects += [volume(f"on-{at}", nodeAffinity=on_nodes(HOSTNAME, f"n{at}"))] if at in local_on else []
    return objects


def played(objects: list[Json], shape: PodShape, pods: int) -> dict[str, int]:
    """Play so many pods, one after the other, and return their number on each node at the end."""
    raws = [
        {**shape.raw, "metadata": {**shape.raw["metadata"], "name": f"{shape.name}-{at + 1}"}} for at in range(pods)
    ]
    events = [PodArrives(float(at), raw) for at, raw in enumerate(raws)]
    ends: list[Snapshot] = []
    run_scenario(PreparedScenario(objects, list(events), 100.0, SimulationSettings()), configured(), ended=ends.append)
    return {name: len(list(ends[0].pods.pods_on(at))) for at, name in enumerate(ends[0].names)}


@given(
    listed=nodes,
    local_on=st.sets(st.integers(0, 3)),
    want=st.sampled_from([*WANTS, "an extended resource"]),
)
@settings(max_examples=tiers.count(30, 300), deadline=None)
def test_capacity_gangs_and_a_run_place_the_same_pods(
    listed: list[tuple[str, int, int, int]], local_on: set[int], want: str
) -> None:
    objects = cluster_of(listed, local_on)
    cluster, spec = snapshot(objects), WANTS.get(want, {})
    raw = pod("x", owner="", spec=spec)
    if want == "an extended resource":
        raw["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}}
    shape = pod_shape(raw, cluster)
    capacity = fit_clones(cluster, configured(), shape, limit=LIMIT)
    by_node = dict(zip(capacity.names, capacity.by_node.tolist(), strict=True))
    gangs = fit_gangs(cluster, configured(), Gang(shape, 1), limit=LIMIT)
    assert dict(zip(gangs.names, gangs.by_node.tolist(), strict=True)) == by_node
    assert played(objects, shape, LIMIT) == by_node
    assert capacity.exact is (capacity.count < LIMIT)
