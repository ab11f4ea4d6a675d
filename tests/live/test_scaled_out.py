"""The scaled-out form: the very commands of docker-compose.yml, by hand, against real PostgreSQL and Redis."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
import yaml

from tests.support import seed
from tests.support.controlplane import ControlPlane
from tests.support.databases import Redis, own_database
from tests.support.needs import missing
from tests.support.processes import free_port, running, wait_until
from tests.support.prometheus import Prometheus
from tests.support.site import PASSWORD, ROOT, Site, clean_environment
from tests.support.tiers import NIGHTLY

pytestmark = [pytest.mark.postgresql, pytest.mark.redis]

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
OPERATOR = {"KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.0/8"}
OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "kschedweb"}


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with own_database() as url:
        yield url


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """A database of the server that REDIS_URL names, empty: another one in each process of pytest-xdist."""
    configured_url = urlsplit(os.environ["REDIS_URL"])
    # Deployments that shared one would take each other's messages.
    url = configured_url._replace(path=f"/{15 - int(configured_url.path.strip('/') or 0)}").geturl()
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        client.flushdb()
        yield url
        client.flushdb()


class Deployment:
    """Deployment as Compose makes it: settings, secrets as files, commands."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.redis_url = redis_url
        contents = {
            "secret_key": secrets.token_urlsafe(48),
            "encryption_keys": secrets.token_urlsafe(32),
            "database_url": database_url,
        }
        for name, value in contents.items():
            (folder / name).write_text(value + "\n")

    def fill(self, text: str) -> str:
        """``text`` with the paths, names and defaults of this machine in place of a container's."""
        text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: OPERATOR.get(match[1], match[2]), text)
        text = re.sub(r"/run/secrets\b|/tmp\b", str(self.folder), text.replace("$$", "$"))
        text = text.replace("redis://redis:6379/0", self.redis_url).replace("0.0.0.0", "127.0.0.1")
        return re.sub(r"\b8000\b", str(self.port), text)

    def environment(self, service: str) -> dict[str, str]:
        settings = {name: self.fill(str(value)) for name, value in OURS[service]["environment"].items()}
        # Each container has a /tmp of its own.
        temporary = self.folder / f"tmp-{service}"
        temporary.mkdir(exist_ok=True)
        machine = {"HOSTNAME": os.uname().nodename, "KSCHEDWEB_DATA_DIR": str(self.folder), "TMPDIR": str(temporary)}
        return clean_environment(**settings, **machine)

    def command(self, service: str) -> list[str]:
        return [self.fill(word) for word in OURS[service]["command"]]

    def run(self, service: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = self.environment(service) | {"KSCHEDWEB_ADMIN_PASSWORD": PASSWORD}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)

    def doctor(self, **settings: str) -> tuple[int, dict[str, list[str]]]:
        """Exit status of `manage.py doctor` beside the services, and what is amiss, by what it is about."""
        environment = self.environment("web") | {"KSCHEDWEB_LOG_LEVEL": "ERROR"} | settings
        for name in settings:
            environment.pop(f"{name}_FILE", None)
        command = [sys.executable, "manage.py", "doctor", "--json"]
        process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        findings: dict[str, list[str]] = {}
        for row in map(json.loads, process.stdout.splitlines()):
            if row["level"] != "ok":
                assert row["advice"], row
                findings.setdefault(row["about"], []).append(row["what"])
        return process.returncode, findings

    def healthy(self, service: str) -> bool:
        """Return whether the service passes its own health check."""
        _, *command = map(self.fill, OURS[service]["healthcheck"]["test"])
        variables = self.environment(service)
        command = [re.sub(r"\$(\w+)", lambda match: variables[match[1]], word) for word in command]
        return self.run(service, command).returncode == 0


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, database_url: str, redis_url: str) -> Iterator[Deployment]:
    """Every service of ours, started as docker-compose.yml says."""
    started_deployment = Deployment(tmp_path_factory.mktemp("scaled-out"), database_url, redis_url)
    for command in (started_deployment.command("migrate"), ["python", "manage.py", "ensure_admin"]):
        completed = started_deployment.run("migrate", command)
        assert completed.returncode == 0, completed.stderr
    with contextlib.ExitStack() as stack:
        for service in ("web", "worker", "scheduler", "beat"):
            log = started_deployment.folder / f"{service}.log"
            process = running(
                started_deployment.command(service), log, started_deployment.environment(service), ROOT, patience=30
            )
            stack.enter_context(process)
        wait_until(lambda: started_deployment.healthy("web"), "web healthy", step=0.5)
        yield started_deployment


@pytest.fixture(scope="module")
def site(deployment: Deployment) -> Site:
    site = Site(f"http://127.0.0.1:{deployment.port}")
    site.login("admin", PASSWORD)
    return site


def test_every_role_is_there_and_runs_without_root() -> None:
    assert set(OURS) == {"migrate", "web", "worker", "scheduler", "beat"}
    for name, service in COMPOSE["services"].items():
        assert service["user"] not in ("", "0", "root"), name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["healthcheck"], name
        assert service["mem_limit"], name
        assert service["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name
        for variable, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|SECRET|_KEYS|DATABASE_URL", variable)
            assert not secret or str(value).startswith("/run/secrets/"), f"{name}: {variable}"


def test_two_of_web_and_scheduler_run() -> None:
    twice = {name for name, service in OURS.items() if service.get("deploy", {}).get("replicas") == 2}
    assert twice == {"web", "scheduler"}


def test_failing_health_check_ends_the_process_where_that_helps(tmp_path: Path) -> None:
    def check(process: subprocess.Popen[bytes], *commands: str) -> int:
        environment = os.environ | {"TMPDIR": str(tmp_path), "HEALTHY_PROCESS": str(process.pid)}
        return subprocess.run([ROOT / "deploy" / "healthy", *commands], env=environment).returncode

    with subprocess.Popen(["sh", "-c", "sleep 600; # kschedweb"]) as process:
        for _ in range(4):
            assert check(process, "false", "false") == 1, "a restart would not help"
        for _ in range(2):
            assert check(process, "false", "true") == 1
        assert check(process, "true", "true") == 0
        for _ in range(2):
            assert check(process, "false", "true") == 1
        assert process.poll() is None
        assert check(process, "false", "true") == 1
        assert process.wait(10) == -15
    with subprocess.Popen(["sleep", "600"]) as stranger:
        for _ in range(4):
            assert check(stranger, "false", "true") == 1
        assert stranger.poll() is None, "only a process of kschedweb is ended"
        stranger.kill()


@pytest.mark.parametrize("service", ["web", "worker", "scheduler", "beat"])
def test_health_check_of_each_service_passes(deployment: Deployment, service: str) -> None:
    wait_until(lambda: deployment.healthy(service), f"{service} healthy", step=1)


def test_doctor_names_each_fault_of_the_deployment(
    deployment: Deployment, database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for service in ("worker", "scheduler"):
        wait_until(partial(deployment.healthy, service), f"{service} healthy", step=1)
    status, findings = deployment.doctor()
    # One scheduler process runs here; beat's first round comes a minute after its start.
    assert findings.pop("workers") == ["One scheduler process answers: nobody stands by for it."]
    assert (status, findings) in (
        (0, {}),
        (1, {"beat": ["Beat, or the worker that does what it asks for, has given no sign of life yet."]}),
    )
    closed = f"127.0.0.1:{free_port()}"
    faults: list[tuple[dict[str, str], str, str]] = [
        ({"DATABASE_URL": f"postgres://kschedweb@{closed}/kschedweb"}, "database", "cannot be reached"),
        ({"DATABASE_URL": re.sub("://[^@]*@", "://nobody-here@", database_url)}, "database", "cannot be reached"),
        ({"KSCHEDWEB_DATABASE_POOL": "200"}, "database", "one process may ask for 200"),
        ({"REDIS_URL": f"redis://{closed}/0"}, "redis", "cannot be reached"),
        ({"REDIS_URL": f"redis://{closed}/0"}, "workers", "could not be examined"),
        ({"KSCHEDWEB_SECRET_KEY": "short"}, "settings", "KSCHEDWEB_SECRET_KEY has fewer than 50"),
        ({"KSCHEDWEB_SECRET_KEY": "ab" * 40}, "settings", "KSCHEDWEB_SECRET_KEY has fewer than 50"),
        ({"KSCHEDWEB_DEBUG": "true"}, "settings", "KSCHEDWEB_DEBUG is on"),
        ({"KSCHEDWEB_ENCRYPTION_KEYS": "a" * 40}, "keys", "few different characters"),
        ({"REDIS_URL": ""}, "settings", "REDIS_URL is not"),
    ]
    for settings, subject, message in faults if NIGHTLY else faults[2:4]:
        status, findings = deployment.doctor(**settings)
        assert status == 1, settings
        assert any(message in finding for finding in findings.get(subject, ())), (settings, findings)
    with own_database() as empty:
        status, findings = deployment.doctor(DATABASE_URL=empty)
        assert (status, list(findings)) == (1, ["database"] + ["workers"] * ("workers" in findings))
        assert "migrations are missing" in findings["database"][0]
    other = Redis(tmp_path_factory.mktemp("redis"))
    other.start()
    try:
        with contextlib.closing(redis.Redis.from_url(other.url)) as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
        status, findings = deployment.doctor(REDIS_URL=other.url)
    finally:
        other.kill()
    assert status == 1
    assert "allkeys-lru" in findings["redis"][0]
    assert [finding.partition(" process")[0] for finding in findings["workers"]] == ["No worker", "No scheduler"]


def test_doctor_sees_clocks_that_differ(deployment: Deployment) -> None:
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        missing("install faketime")
    ahead = {"LD_PRELOAD": str(libraries[-1]), "FAKETIME": "+60s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    status, findings = deployment.doctor(**ahead)
    assert status == 1
    text = " ".join(message for group in findings.values() for message in group)
    for component in ("the database", "Redis", "worker@", "scheduler@"):
        assert re.search(rf"The clock of {component}\S* differs from this process's by -(59|6\d)", text), (
            component,
            findings,
        )


@pytest.mark.nightly
def test_worker_s_health_check_fails_where_no_worker_is(deployment: Deployment) -> None:
    check = OURS["worker"]["healthcheck"]["test"][2]
    absent = deployment.fill(check).replace("worker@", "nobody@")
    assert deployment.run("worker", ["sh", "-c", absent]).returncode != 0


def test_main_trip_goes_through_all_processes(site: Site, deployment: Deployment) -> None:
    # The web process loads the demo; another one made the database and the admin.
    completed = deployment.run("web", ["python", "manage.py", "load_demo"])
    assert completed.returncode == 0, completed.stderr
    clusters = {cluster["name"]: cluster for cluster in site.ask("GET", "clusters/")["results"]}
    assert clusters["demo"]["counts"]["Pod"] > 100

    pods = site.ask("GET", "clusters/demo/pods/?pending=true&limit=100")["results"]
    before = winners(site, pods)
    assert any(before.values())
    assert not all(before.values())

    newest = site.call_rest("GET", "policies/default/")
    etag = newest.headers["ETag"]
    arguments = {"scoringStrategy": {"type": "MostAllocated"}}
    document = yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": arguments}]}],
        }
    )
    saved = site.ask(
        "POST", "policies/default/revisions/", {"document": document, "comment": "pack"}, headers={"If-Match": etag}
    )
    assert saved["number"] == 2
    lost = site.call_rest("POST", "policies/default/revisions/", {"document": document}, headers={"If-Match": etag})
    assert lost.status_code == 412
    assert lost.headers["Content-Type"].startswith("application/problem+json")

    after = winners(site, pods)
    assert {key for key in before if bool(before[key]) != bool(after[key])} == set()
    assert before != after


def test_worker_reads_a_cluster_that_the_web_process_connected(site: Site, control_plane: ControlPlane) -> None:
    control_plane.create_nodes([seed.node("one"), seed.node("two")])
    form = {"name": "live", "source": "token", "server": control_plane.url, "ca": control_plane.ca}
    connected = site.ask("POST", "clusters/", {**form, "token": control_plane.tokens["reader"]})
    site.wait_for_job(connected["job"]["id"])
    assert site.ask("GET", "clusters/live/")["counts"]["Node"] == 2

    control_plane.create_nodes([seed.node("three")])
    site.wait_for_job(site.ask("POST", "clusters/live/refresh/")["id"])
    assert site.ask("GET", "clusters/live/")["counts"]["Node"] == 3


def winners(site: Site, pods: list[dict[str, Any]]) -> dict[str, str]:
    """The chosen node of each pod under the newest revision of `default`, "" where it fits nowhere."""
    chosen_nodes = {}
    for pod in pods:
        key = f"{pod['namespace']}/{pod['name']}"
        chosen_nodes[key] = site.ask("GET", f"clusters/demo/pods/{key}/decision/?policy=default").get("chosen") or ""
    return chosen_nodes


@pytest.mark.nightly
def test_beat_and_a_worker_collect_watermarks_once_an_interval(
    site: Site, deployment: Deployment, tmp_path: Path
) -> None:
    files = {"file": ("nodes.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": [seed.node("node-a")]}))}
    imported = site.call_rest("POST", "clusters/import/", data={"name": "metered"}, files=files)
    assert imported.status_code == 201, imported.text
    source = "clusters/metered/watermarks/source/"
    query = 'label_replace(vector(42), "instance", "node-a:9100", "", "")'
    with Prometheus(tmp_path).started() as prometheus:
        body = {"kind": "prometheus", "address": prometheus.url, "queries": {"node/cpu/15m": query}, "interval": 30}
        site.ask("PUT", source, body)

        def get_source() -> dict[str, Any]:
            response: dict[str, Any] = site.ask("GET", source)
            return response

        wait_until(lambda: get_source()["succeeded_at"] is not None, "the first collection", step=0.5)
        first = get_source()["report"]["at"]
        wait_until(lambda: get_source()["report"]["at"] > first, "the second collection", step=0.5)
    response = get_source()
    assert response["report"]["at"] // 30 == first // 30 + 1
    assert (response["freshness"]["nodes"], response["error"]) == (1, "")
    site.ask("PUT", source, {"kind": "none"})
