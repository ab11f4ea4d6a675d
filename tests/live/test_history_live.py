"""The audit log of the real API server, read as a history; and the server taken away and brought back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import seed
from tests.support.controlplane import ControlPlane
from tests.support.history import AUDIT_POLICY, NEVER, History, violations

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def audited(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(assets, tmp_path_factory.mktemp("audited"), audit=AUDIT_POLICY).started() as plane:
        yield plane


def create(plane: ControlPlane, name: str, scheduler: str = "mine") -> str:
    spec = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "pause"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return str(plane.call("POST", PODS, body)["metadata"]["uid"])


def test_what_was_done_is_what_the_history_says(audited: ControlPlane) -> None:
    audited.create_nodes([seed.node("one")])
    uids = {name: create(audited, name) for name in ("bound", "removed", "waiting")}
    foreign = create(audited, "foreign", "theirs")
    audited.bind("default", "bound", "one")
    audited.bind("default", "foreign", "one")
    with contextlib.suppress(RuntimeError):
        audited.bind("default", "bound", "one")
    audited.call("DELETE", f"{PODS}/bound")
    audited.call("DELETE", f"{PODS}/removed")
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 3}
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    audited.call("POST", leases, {"metadata": {"name": "mine"}, "spec": spec})

    history = History.read(audited.audit_log)
    assert [(bind.pod, bind.node, bind.code) for bind in history.binds] == [
        ("default/bound", "one", 201),
        ("default/foreign", "one", 201),
        ("default/bound", "one", 409),
    ]
    # A pod on a node is given its grace, one that waits for a node is gone at once.
    assert history.pods[uids["bound"]].deleting < history.pods[uids["bound"]].removed == NEVER
    assert history.pods[uids["removed"]].removed < NEVER
    assert history.pods[uids["waiting"]].deleting == NEVER
    assert history.pods[foreign].scheduler == "theirs"
    assert history.rooms["one"][-1][1]["cpu"] > 0
    mine = [write for write in history.leases if write.lease == "kube-system/mine"]
    assert [(write.holder, write.epoch, write.seconds) for write in mine] == [("me", 3, 15)]
    sentences = violations(history, scheduler="mine")
    assert len([sentence for sentence in sentences if "by its name alone" in sentence]) == 2
    assert len([sentence for sentence in sentences if "which is theirs's" in sentence]) == 1
    assert len(sentences) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("server", ["apiserver", "etcd"])
def test_objects_and_the_history_outlive_a_killed_server(audited: ControlPlane, server: str) -> None:
    create(audited, f"before-{server}")
    if server == "etcd":
        audited.etcd.kill()
        audited.etcd.start()
    audited.apiserver.kill()
    audited.start_apiserver()
    assert audited.call("GET", f"{PODS}/before-{server}")["spec"]["schedulerName"] == "mine"
    create(audited, f"after-{server}")
    keys = {pod.key for pod in History.read(audited.audit_log).pods.values()}
    assert {f"default/before-{server}", f"default/after-{server}"} <= keys
