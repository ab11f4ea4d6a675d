"""A real worker on the real API server runs what was rolled out, and not what an editor saves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.livesite import APPROVAL_LABELS, DOCUMENT, LiveSite, live_site
from tests.support.processes import wait_until

pytestmark = pytest.mark.live


class Gate(BaseHTTPRequestHandler):
    """An extender that lets every node pass, and notes which pods it was told of."""

    pod_names: list[str]

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.pod_names.append(question["Pod"]["metadata"]["name"])
        body = json.dumps({"NodeNames": question["NodeNames"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def gate() -> Iterator[tuple[str, list[str]]]:
    """The address of an extender, and the pods it was told of."""
    pod_names: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Noting", (Gate,), {"pod_names": pod_names}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/gate", pod_names
    server.shutdown()
    server.server_close()


@pytest.fixture
def site(assets: Path, tmp_path: Path) -> Iterator[LiveSite]:
    tmp_path.chmod(0o755)
    with live_site(assets, tmp_path) as site:
        yield site


def leads(site: LiveSite, revision: int) -> bool:
    """Return whether somebody leads by this revision and knows the cluster."""
    leader = site.leader()
    return leader is not None and leader["revision"] == revision


def read_again(site: LiveSite) -> None:
    """Wait until the process that hosts it has looked at the rows since now: it says how it is after each look."""
    now = time.time()

    def was_read() -> bool:
        leader = site.leader()
        return leader is not None and time.time() - leader["silent"] > now + 2

    wait_until(was_read, "the rows were read again", step=0.2)


@pytest.mark.nightly
def test_a_saved_revision_changes_nothing_and_a_roll_out_does_without_a_restart(
    site: LiveSite, gate: tuple[str, list[str]]
) -> None:
    address, pod_names = gate
    asking = yaml.safe_load(DOCUMENT)
    asking["extenders"] = [{"urlPrefix": address, "filterVerb": "filter", "nodeCacheCapable": True}]
    site.begin("rolled", 1, document=DOCUMENT, nodes=3)
    worker = site.workers[0].pid
    site.pods(["held-0"], labels=APPROVAL_LABELS)
    (request,) = site.waiting(1)

    number = site.backstage("save", live=site.live, document=yaml.safe_dump(asking))
    assert number == 2
    read_again(site)
    site.pods(f"saved-{number}" for number in range(5))
    site.wait_bound(5)
    assert pod_names == []

    site.backstage("roll_out", live=site.live, number=2)
    # Which run tries these pods is not known yet; the next ones are the new run's.
    wait_until(lambda: leads(site, 2), "revision 2 leads", step=0.2)
    site.pods(f"rolled-{number}" for number in range(5))
    site.wait_bound(10)
    assert {name for name in pod_names if name != "held-0"} == {f"rolled-{number}" for number in range(5)}
    assert [row["id"] for row in site.waiting(1)] == [request["id"]]
    site.approve([request])
    site.wait_bound(11)
    assert site.bound()["held-0"] == request["node"]

    site.backstage("roll_out", live=site.live, number=1)
    wait_until(lambda: leads(site, 1), "revision 1 leads", step=0.2)
    heard = len(pod_names)
    site.pods(f"back-{number}" for number in range(5))
    site.wait_bound(16)
    assert len(pod_names) == heard
    assert [process.pid for process in site.workers if process.alive] == [worker]

    def revision_by_pod() -> dict[str, int]:
        return {row["name"]: row["number"] for row in site.backstage("decisions", live=site.live)}

    wait_until(lambda: len(revision_by_pod()) == 16, "every decision is kept", step=0.2)
    expected = {"saved": 1, "rolled": 2, "back": 1}
    assert all(
        revision_by_pod()[name] == expected[name.partition("-")[0]] for name in revision_by_pod() if name != "held-0"
    )
    site.check()
