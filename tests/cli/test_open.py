"""``kschedweb open``: a site about a dump, for whoever has its address, until it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import urllib3

from tests.conftest import ROOT
from tests.engine.builders import node, pod

MARKER = "Your cluster, to read: "


def test_a_site_to_read_that_is_gone_afterwards(tmp_path: Path) -> None:
    dump = tmp_path / "mine.json"
    dump.write_text(json.dumps({"kind": "List", "items": [node("a"), pod("big", requests={"cpu": "6"})]}))
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment = {**inherited, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    # A site that is deployed here is left alone: nobody answers at these.
    environment |= {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
    # As a shell starts it in the background.
    command = ["env", "--ignore-signal=INT"]
    command += [sys.executable, "-m", "kschedweb.cli", "open", "--snapshot", str(dump), "--no-browser"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            read_and_leave(process)
        finally:
            process.terminate()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def read_and_leave(process: subprocess.Popen[str], cluster: str = "mine") -> None:
    """Read pages as who has the address and as who has not, and interrupt the command."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith(MARKER)
    address = line.removeprefix(MARKER).split()[0]
    site = address.partition("/open/")[0]
    http = urllib3.PoolManager()
    assert http.request("GET", f"{site}/clusters/", redirect=False).status == 302
    cookie = http.request("GET", address, redirect=False).headers["Set-Cookie"].partition(";")[0]
    headers = {"Cookie": cookie}
    assert b"big is pending" in http.request("GET", f"{site}/decision/{cluster}/default/big/", headers=headers).data
    assert http.request("GET", f"{site}/clusters/connect/", headers=headers).status in (403, 404)
    http.clear()
    process.send_signal(signal.SIGINT)
    process.wait(60)
