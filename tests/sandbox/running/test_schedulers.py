"""The sandbox's own kube-schedulers: whom they ask, and which configuration is at work."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.sandbox.selectors import open_client
from tests.support.processes import wait_until
from tests.support.sandbox import pod, started

MAPS = "/api/v1/namespaces/kube-system/configmaps"
PODS = "/api/v1/namespaces/default/pods"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLAIN = HEAD + "profiles:\n- schedulerName: {}\n"
ASKING = PLAIN + "extenders:\n- urlPrefix: {}\n  filterVerb: filter\n"


def config_map(text: str) -> dict[str, Any]:
    labels = {"component": "kube-scheduler"}
    return {"metadata": {"name": "mine", "labels": labels}, "data": {"config.yaml": text}}


def _failed(client: Client, name: str) -> bool:
    return bool(events(client, "default", name, "FailedScheduling"))


def events(client: Client, namespace: str, name: str, reason: str) -> list[str]:
    items = client.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return [
        event["message"] for event in items if event["involvedObject"]["name"] == name and event["reason"] == reason
    ]


def bound(client: Client, name: str) -> bool:
    return bool(client.get(f"{PODS}/{name}")["spec"].get("nodeName"))


def test_an_extender_elsewhere_is_never_asked(tmp_path: Path, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as site, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        site_url, elsewhere_url = (f"http://127.0.0.1:{server.getsockname()[1]}" for server in (site, elsewhere))
        urls = (
            f"{elsewhere_url}/x",
            f"http://user:word@{elsewhere_url[7:]}/x",
            f"{site_url}.example/x",
            f"{elsewhere_url}/@{site_url[7:]}.example/",
        )
        with started(tmp_path / "sandbox.sqlite3", settings, site_url), open_client(patience=60) as client:
            for number, url in enumerate(urls):
                configuration = config_map(ASKING.format(f"mine-{number}", url))
                configuration["metadata"]["name"] = f"mine-{number}"
                client.create(MAPS, configuration)
                client.create(PODS, pod(f"asked-{number}", scheduler=f"mine-{number}"))
            for number in range(len(urls)):
                name = f"asked-{number}"
                wait_until(partial(_failed, client, name), "it failed")
                messages = events(client, "default", name, "FailedScheduling")
                assert "asks no extender but this site's" in messages[0]
                assert not bound(client, name)
        for listener in (site, elsewhere):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_a_broken_configuration_leaves_the_one_before_at_work_and_a_changed_one_takes_over(
    tmp_path: Path, settings: Settings
) -> None:
    with started(tmp_path / "sandbox.sqlite3", settings), open_client(patience=60) as client:
        client.create(MAPS, config_map(PLAIN.format("first")))
        client.create(PODS, pod("a", scheduler="first"))
        wait_until(lambda: bound(client, "a"), "the first one binds")

        client.patch(f"{MAPS}/mine", {"data": {"config.yaml": PLAIN.format("second") + "percentage: 1\n"}})
        wait_until(lambda: bool(events(client, "kube-system", "mine", "InvalidConfiguration")), "it is refused")
        [message] = events(client, "kube-system", "mine", "InvalidConfiguration")
        assert "the one before stays in force" in message
        assert "percentage" in message
        client.create(PODS, pod("b", scheduler="first"))
        wait_until(lambda: bound(client, "b"), "the one before binds still")

        client.create(PODS, pod("c", scheduler="second"))
        client.patch(f"{MAPS}/mine", {"data": {"config.yaml": PLAIN.format("second")}})
        wait_until(lambda: bound(client, "c"), "the changed one binds what waited for it")
        client.create(PODS, pod("d", scheduler="first"))
        client.create(PODS, pod("e", scheduler="second"))
        wait_until(lambda: bound(client, "e"), "the changed one goes on")
        assert not bound(client, "d")
