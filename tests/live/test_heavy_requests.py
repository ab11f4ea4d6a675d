"""Heavy requests of one person, and the answers that all others get meanwhile: at processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clusters.conftest import node, pod
from tests.support.databases import own_database
from tests.support.site import PASSWORD, ROOT, MadeRun, Site, made_run

MIB = 1 << 20
# Three of the files below, each read as a whole, took more than 1.4 GiB; one at a time, object by object, 0.4 GiB.
MOST_MEMORY = 900 * MIB
PEOPLE = """
from kschedweb.accounts.models import User
for role in ("viewer", "editor"):
    User.objects.create_user(username=role, password="{password}", role=role)
"""


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeRun]:
    """`make run` on a database of its own, with a viewer and an editor."""
    folder = tmp_path_factory.mktemp(request.param)
    settings = {"KSCHEDWEB_ADMIN_PASSWORD": PASSWORD, "KSCHEDWEB_SECRET_KEY": "s" * 60}
    with ExitStack() as stack:
        if request.param == "postgresql":
            settings["DATABASE_URL"] = stack.enter_context(own_database())
        started = stack.enter_context(made_run(folder, **settings))
        command = [sys.executable, "manage.py", "shell", "-c", PEOPLE.format(password=PASSWORD)]
        subprocess.run(command, cwd=ROOT, env=started.env, check=True, capture_output=True)
        yield started


def session(run: MadeRun, username: str) -> Site:
    site = Site(run.site.url)
    site.login(username, PASSWORD)
    return site


class Meanwhile:
    """A person who goes on doing something as long as something else lasts; ``statuses`` of the answers."""

    def __init__(self, act: Callable[[], requests.Response]) -> None:
        self._act, self._ended = act, threading.Event()
        self.statuses: list[int] = []
        self._thread = threading.Thread(target=self._go_on)

    def _go_on(self) -> None:
        while not self._ended.is_set():
            self.statuses.append(self._act().status_code)

    def __enter__(self) -> Meanwhile:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "run", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True, scope="module"
)
def test_six_questions_of_a_viewer_leave_others_their_pages_and_answers(run: MadeRun) -> None:
    long = {
        "cluster": "demo", "pending": False, "copies": 10_000,
        "node": {"allocatable": {"cpu": "16", "memory": "64Gi"}}, "pod": {"requests": {"cpu": "1"}},
    }  # fmt: skip
    viewers = [session(run, "viewer") for _ in range(6)]
    editor, looking = session(run, "editor"), session(run, "editor")
    pages = Meanwhile(lambda: looking.session.get(f"{looking.url}/clusters/demo/", timeout=120))
    with pages, ThreadPoolExecutor(6) as asking:
        answers = list(asking.map(lambda viewer: viewer.call_rest("POST", "capacity/nodes/", long), viewers))
        other = editor.call_rest(
            "POST", "capacity/fit/", {"cluster": "demo", "pod": {"requests": {"cpu": "1"}}, "limit": 5}
        )
    assert set(pages.statuses) == {200}
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [202] + [409] * 5
    assert other.status_code in (200, 202)
    address = next(answer.headers["Location"] for answer in answers if answer.status_code == 202)
    job = next(answer.json()["job"] for answer in answers if answer.status_code == 202)
    assert viewers[0].session.get(address, timeout=60).json()["state"] in ("queued", "running", "succeeded", "failed")
    run.site.login("admin", PASSWORD)
    run.site.call_rest("POST", f"jobs/{job}/cancel/")


@pytest.mark.nightly
@pytest.mark.parametrize("run", ["sqlite"], indirect=True, scope="module")
def test_three_large_imports_at_once_fail_nowhere_and_hold_little(run: MadeRun) -> None:
    body = large(32 * MIB)
    editors = [session(run, "editor") for _ in range(3)]
    writer = session(run, "editor")
    numbers = iter(range(100_000))

    def write() -> requests.Response:
        files = {"file": ("small.json", json.dumps([node(f"node-{next(numbers)}")]))}
        return writer.call_rest("POST", "clusters/import/?name=small&replace=true", files=files)

    def send(number: int) -> requests.Response:
        headers = {"Content-Type": "application/json"}
        address = f"clusters/import/?name=large-{number}"
        return editors[number].call_rest("POST", address, data=body, headers=headers)

    before = memory(run)
    with Meanwhile(write) as writing, ThreadPoolExecutor(3) as sending:
        answers = list(sending.map(send, range(3)))
        assert [answer.status_code for answer in answers] == [202] * 3
        jobs = [writer.wait_for_job(answer.json()["id"], 900) for answer in answers]
    assert set(writing.statuses) <= {200, 201}
    assert len(writing.statuses) > 3
    pods = body.count(b'"Pod"')
    assert [job["result"]["counts"]["Pod"] for job in jobs] == [pods] * 3
    for number in range(3):
        assert writer.ask("GET", f"clusters/large-{number}/")["counts"]["Pod"] == pods
    assert memory(run) - before < MOST_MEMORY


@pytest.mark.nightly
@pytest.mark.parametrize("run", ["sqlite"], indirect=True, scope="module")
def test_documents_that_explode_are_refused_or_answered_while_others_go_on(run: MadeRun) -> None:
    """Each was minutes of a processor, an answer of 100 MB, a 500, or a site without pages for all others."""
    editor, looking = session(run, "editor"), session(run, "viewer")
    decision = Meanwhile(lambda: looking.session.get(f"{looking.url}/decision/demo/shop/web-preview/", timeout=120))
    before = memory(run)
    with decision:
        for path, body, statuses in exploding():
            answer = editor.call_rest("POST", path, body)
            assert answer.status_code in statuses, (path, answer.text[:500])
            assert len(answer.content) < 16 * MIB, path
            if answer.status_code == 202:
                editor.call_rest("POST", f"jobs/{answer.json()['job']}/cancel/")
        sessions = [session(run, "editor") for _ in range(12)]
        with ThreadPoolExecutor(12) as crowd:
            pages = crowd.map(lambda person: person.session.get(f"{person.url}/policies/long/", timeout=600), sessions)
            assert {page.status_code for page in pages} == {200}
        answer = editor.session.get(f"{editor.url}/sweeps/new/?policy=long", timeout=120)
        assert answer.status_code == 422
    assert set(decision.statuses) == {200}
    assert len(decision.statuses) > 3
    assert memory(run) - before < MOST_MEMORY


def exploding() -> Iterator[tuple[str, dict[str, Any], set[int]]]:
    """(path, body, statuses that may come of it) of questions with documents that are far larger than they look."""
    scheduler = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    amounts = {f"r{number}.example/x": "1" for number in range(20_000)}
    weighed = [{"name": name, "weight": 1} for name in list(amounts)[:9_000]]
    strategy = {"scoringStrategy": {"type": "LeastAllocated", "resources": weighed}}
    fit = [{"pluginConfig": [{"name": "NodeResourcesFit", "args": strategy}]}]
    yield "policies/", {"name": "long", "document": json.dumps({**scheduler, "profiles": fit})}, {201}
    profiles = [{"schedulerName": f"s{number}"} for number in range(16_000)]
    yield "policies/validate/", {"document": json.dumps({**scheduler, "profiles": profiles})}, {200}
    evictor = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    profiles = [{"name": f"p{number}"} for number in range(10_000)]
    yield "descheduling/", {"cluster": "demo", "document": json.dumps({**evictor, "profiles": profiles})}, {400}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": {}}
    offering = {"zone": "a", "capacityType": "on-demand", "price": 1}
    vast = {"name": "t", "capacity": {"cpu": "9" * 3_000, "memory": "9Ei"}, "offerings": [offering]}
    karpenter = {"apiVersion": "kschedweb/v1", "kind": "Karpenter", "instanceTypes": [vast], "nodePools": [pool]}
    yield "policies/", {"name": "vast", "document": json.dumps(karpenter)}, {201}
    yield "autoscaling/", {"cluster": "demo", "policy": "vast"}, {200, 202}
    yield "capacity/fit/", {"cluster": "demo", "pod": {"requests": amounts}}, {200, 202}
    changes = [{"addNodes": {"name": "n", "count": 10**9, "allocatable": {"cpu": "1"}}}]
    yield "scenarios/", {"document": json.dumps({"name": "x", "changes": changes})}, {422}
    objects = [node("n"), *(pod(f"p{number}") for number in range(10_000))]
    yield "gate/", {"policy": {"name": "default"}, "snapshot": {"objects": objects}}, {200, 202}


def large(size: int) -> bytes:
    """A list of pods as kubectl writes it, of at least so many bytes, half of which no decision needs."""
    dropped = [{"manager": "kubectl", "fieldsV1": {f"f:field-{number}": {} for number in range(30)}}]
    parts, length, number = [json.dumps(node("node-1"))], 0, 0
    while length < size:
        item: dict[str, Any] = pod(f"pod-{number}", nodeName="node-1")
        item["metadata"] |= {"managedFields": dropped, "labels": {"app": f"app-{number % 50}", "uid": f"{number}"}}
        parts.append(json.dumps(item, indent=4))
        length, number = length + len(parts[-1]), number + 1
    return ('{"apiVersion": "v1", "items": [' + ",".join(parts) + '], "kind": "List"}').encode()


def memory(run: MadeRun) -> int:
    """The most bytes that the site's processes have ever held, together."""
    assert run.process is not None
    total_bytes = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == run.process.pid:
                status = (folder / "status").read_text()
                total_bytes += (
                    next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024
                )
        except (OSError, StopIteration):
            continue  # it has ended
    return total_bytes
