"""File of a sandbox: its contents, and the outcome if they cannot be read or written."""

from __future__ import annotations

import json
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_django import Settings
from structlog.testing import capture_logs

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.requests import ApiResponse, Request
from kschedweb.engine.sandbox.world.resources import CONFIG_MAP
from kschedweb.sandbox.running.persistence import Keeper
from kschedweb.sandbox.running.process import Sandbox
from tests.support.processes import wait_until
from tests.support.sandbox import pod, started

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


def call(sandbox: Sandbox, method: str, path: str, body: Any = None) -> tuple[int, Json]:
    answer = sandbox.call(Request(method, path, {}, body))
    assert isinstance(answer, ApiResponse)
    return answer.code, answer.body


def test_what_a_sandbox_cannot_live_with_is_set_aside_once(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "sandbox.sqlite3"
    with started(path, settings) as sandbox:
        assert call(sandbox, "POST", PODS, pod("well"))[0] == 201
        good = call(sandbox, "GET", f"{PODS}/well")[1]
    damaged: Json = {
        "owner": {"ownerReferences": ["x"]},
        "uid": {"uid": None},
        "time": {"creationTimestamp": "not a time"},
        "name": {"name": "another"},
    }
    with sqlite3.connect(path) as file:
        for name, change in damaged.items():
            raw = {**good, "metadata": {**good["metadata"], "name": name, **change}}
            file.execute("INSERT INTO object VALUES ('pods', 'default', ?, ?)", (name, json.dumps(raw)))
        file.execute("INSERT INTO object VALUES ('pods', 'default', 'text', '{')")
    for expected in ({*damaged, "text"}, set()):
        with capture_logs() as logs, started(path, settings) as sandbox:
            listed = call(sandbox, "GET", PODS)[1]["items"]
            assert {item["metadata"]["name"] for item in listed} == {"well"}
        lines = [entry for entry in logs if entry["event"] == "sandbox_object_set_aside"]
        assert {line["object"].rpartition("/")[2] for line in lines} == expected
        assert all(line["reason"] for line in lines)
    with sqlite3.connect(path) as file:
        assert {row[0] for row in file.execute("SELECT name FROM aside")} == {*damaged, "text"}


@contextmanager
def no_room_after(size: int) -> Iterator[None]:
    """This process can write no file beyond ``size`` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_cannot_be_kept_has_not_happened(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "sandbox.sqlite3"
    large = {"metadata": {"name": "large"}, "data": {"text": "x" * 1_000_000}}
    with started(path, settings) as sandbox:
        with no_room_after(path.with_name("sandbox.sqlite3-wal").stat().st_size + 100_000):
            code, body = call(sandbox, "POST", MAPS, large)
            assert (code, body["reason"]) == (500, "InternalError")
            assert body["message"].startswith("Internal error occurred: the sandbox cannot keep the change: ")
            assert call(sandbox, "GET", f"{MAPS}/large")[0] == 404
            wait_until(lambda: "its time stands still" in sandbox.trouble, "it says so")
        assert call(sandbox, "POST", MAPS, large)[0] == 201
        wait_until(lambda: not sandbox.trouble, "its time passes again")
    with started(path, settings) as sandbox:
        assert call(sandbox, "GET", f"{MAPS}/large")[1]["data"] == large["data"]


def test_what_nobody_could_hear_of_has_not_happened(tmp_path: Path, settings: Settings) -> None:
    with started(tmp_path / "sandbox.sqlite3", settings) as sandbox:
        before = call(sandbox, "POST", MAPS, {"metadata": {"name": "map"}, "data": {"a": "1"}})[1]

        def hear(change: Any) -> None:
            if change.new is not None and "refused" in (change.new.get("data") or {}):
                raise ValueError("a part of the world that fails")

        sandbox.world._context.store.add_listener(hear)
        changed = {**before, "data": {"refused": "x"}}
        assert call(sandbox, "PUT", f"{MAPS}/map", changed)[0] == 500
        assert call(sandbox, "POST", MAPS, {"metadata": {"name": "other"}, "data": {"refused": "x"}})[0] == 500
        assert call(sandbox, "GET", f"{MAPS}/other")[0] == 404
        assert call(sandbox, "GET", f"{MAPS}/map")[1]["data"] == {"a": "1"}
    keeper = Keeper(tmp_path / "sandbox.sqlite3")
    store = keeper.load_store()
    keeper.close()
    data_by_name = {raw["metadata"]["name"]: raw.get("data") for raw in store.all(CONFIG_MAP, "default")}
    assert data_by_name["map"] == {"a": "1"}
    assert "other" not in data_by_name
