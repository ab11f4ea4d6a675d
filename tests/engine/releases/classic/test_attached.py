"""Attached volumes are counted the same, however pods came and went."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.releases.classic import ClassicSnapshot
from tests.engine.builders import node, pod

KIND = "awsElasticBlockStore"


def mounting(name: str, disks: set[int]) -> Pod:
    volumes = [{"name": f"v{disk}", KIND: {"volumeID": str(disk)}} for disk in sorted(disks)]
    return Pod.from_json(pod(name, volumes=volumes))


@given(st.lists(st.tuples(st.integers(0, 1), st.sets(st.integers(0, 4), max_size=3), st.booleans()), max_size=12))
def test_a_volume_counts_once_a_node_until_its_last_pod_is_gone(moves: list[tuple[int, set[int], bool]]) -> None:
    snapshot = ClassicSnapshot.from_objects([node("a"), node("b")])
    attached_by_pod: dict[str, tuple[int, set[int]]] = {}
    for number, (at, disks, leaves) in enumerate(moves):
        if leaves and attached_by_pod:
            key = next(iter(attached_by_pod))
            snapshot.remove_pod(f"default/{key}")
            del attached_by_pod[key]
        else:
            snapshot.place_pod(mounting(f"p{number}", disks), "ab"[at])
            attached_by_pod[f"p{number}"] = at, disks
        disks_by_node = [
            set().union(*(disks for at, disks in attached_by_pod.values() if at == side)) for side in (0, 1)
        ]
        assert snapshot.attached.count_by_node(KIND).tolist() == [len(disks) for disks in disks_by_node]
        copied = snapshot.copy()
        assert copied.attached.count_shared([(KIND, str(disk)) for disk in range(5)]).tolist() == [
            len(disks) for disks in disks_by_node
        ]


def test_claims_count_as_what_they_stand_for_now() -> None:
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"volumeName": "v"},
    }
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"gcePersistentDisk": {"pdName": "d"}}}
    bound = pod("p", on="a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    snapshot = ClassicSnapshot.from_objects([node("a"), claim, bound])
    assert [snapshot.attached.count_by_node(kind)[0] for kind in (KIND, "gcePersistentDisk")] == [1, 1]
    snapshot.objects.add(volume)
    assert [snapshot.attached.count_by_node(kind)[0] for kind in (KIND, "gcePersistentDisk")] == [0, 1]
