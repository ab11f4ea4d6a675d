"""The test control plane itself: real, and with rights as granted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane


def test_reader_may_read_and_stranger_may_not(control_plane: ControlPlane) -> None:
    assert control_plane.request("GET", "/api/v1/pods", user="reader").status == 200
    assert control_plane.request("GET", "/api/v1/pods", user="stranger").status == 403
    assert control_plane.request("POST", "/api/v1/namespaces", {}, user="reader").status == 403


def test_created_node_has_its_status_and_no_foreign_taint(control_plane: ControlPlane) -> None:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    control_plane.create_nodes([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": status}])
    node = control_plane.call("GET", "/api/v1/nodes/one")
    assert node["status"]["allocatable"]["cpu"] == "4"
    assert "taints" not in node["spec"]
    control_plane.wipe()
    assert control_plane.call("GET", "/api/v1/nodes")["items"] == []
