"""A site with live schedulers beside a recorded cluster: databases, workers and a fault proxy that a test may break."""

from __future__ import annotations

import contextlib
import copy
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from kschedweb.engine.json_types import Json
from tests.support import previous, seed
from tests.support.backstage import Backstage
from tests.support.controlplane import ControlPlane
from tests.support.databases import PostgreSQL, Redis, databases
from tests.support.faultproxy import FaultProxy
from tests.support.history import AUDIT_POLICY, History, Request, violations
from tests.support.processes import Server, free_port, wait_until
from tests.support.site import PASSWORD, ROOT, Site, clean_environment

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
LEASE_SECONDS = 6  # instead of 15: all times of an election are in proportion to it, so tests are only shorter
APPROVAL_LABELS = {"approval": "asked"}  # labels of pods that wait for people
DOCUMENT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {permit: {enabled: [{name: HumanApproval}]}}
  pluginConfig:
  - name: HumanApproval
    args:
      rules:
      - {name: asked, podSelector: {matchLabels: {approval: asked}}, timeout: 10m}
      - {name: hurried, podSelector: {matchLabels: {approval: hurried}}, timeout: 2s}
"""


class Deployment:
    """The processes of one site on given databases; nothing is started by itself."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self.folder, self.root = folder, ROOT
        self._env = clean_environment(
            DATABASE_URL=database_url,
            REDIS_URL=redis_url,
            KSCHEDWEB_SECRET_KEY=secrets.token_urlsafe(48),
            KSCHEDWEB_ENCRYPTION_KEYS=secrets.token_urlsafe(32),
            KSCHEDWEB_CLUSTER_ALLOWLIST="127.0.0.0/8",
            KSCHEDWEB_EXTENDER_ALLOWLIST="127.0.0.0/8",
            KSCHEDWEB_EXTENDER_ALLOW_INSECURE="true",
            KSCHEDWEB_DATA_DIR=str(folder),
            KSCHEDWEB_LEASE_SECONDS=str(LEASE_SECONDS),
        )

    def environment(self, **more: str) -> dict[str, str]:
        return {**self._env, **more}

    def at(self, root: Path) -> Deployment:
        """The same site, run by the files and packages of a checkout of the previous release."""
        other = copy.copy(self)
        other.root, other._env = root, self._env | previous.packages(root)
        return other

    def manage(self, *words: str, **more: str) -> None:
        """One command of manage.py, with ``more`` in its environment."""
        command, env = [sys.executable, "manage.py", *words], self.environment(**more)
        process = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, timeout=300)
        if process.returncode:
            raise RuntimeError(process.stderr[-2000:])

    def composed(self, name: str) -> Json:
        """Return the entry of a service in docker-compose.yml."""
        service: Json = yaml.safe_load((self.root / "docker-compose.yml").read_text(encoding="utf-8"))["services"][name]
        return service

    def service(self, name: str, label: str, port: int = 0) -> Server:
        """A service of docker-compose.yml, not started yet; ``label`` tells it from others, ``port`` is the site's."""
        command = self.composed(name)["command"]
        replacements = {
            "0.0.0.0": "127.0.0.1",
            "8000": str(port),
            "/tmp/": f"{self.folder}/{label}-",
            "@%h": f"-{label}@%h",
        }
        for ours, mine in replacements.items():
            command = [word.replace(ours, mine) for word in command]
        place = {"KSCHEDWEB_HOST": "127.0.0.1", "KSCHEDWEB_PORT": str(port)} if port else {}
        return Server(command, self.folder / f"{name}-{label}.log", self.environment(**place), self.root)

    @contextlib.contextmanager
    def site(self) -> Iterator[Site]:
        """A web process, ready, and its admin's session, while it runs."""
        port = free_port()
        server, site = self.web(port), Site(f"http://127.0.0.1:{port}")
        self.manage("ensure_admin", KSCHEDWEB_ADMIN_PASSWORD=PASSWORD)
        server.start()
        try:
            wait_until(lambda: site.answers("/readyz"), "the web process is ready", step=0.3)
            site.login("admin", PASSWORD)
            yield site
        finally:
            server.stop(patience=20)

    def scheduler(self, name: str, **more: str) -> Server:
        """A scheduler worker as docker-compose.yml has it, not started yet."""
        command = [
            "celery", "-A", "kschedweb", "worker", "--queues", "scheduler", "--pool", "threads", "--concurrency", "2",
            "--hostname", f"{name}@%h", "--loglevel", "INFO",
        ]  # fmt: skip
        return Server(command, self.folder / f"{name}.log", self.environment(**more), self.root)

    def web(self, port: int, **more: str) -> Server:
        """A web process as docker-compose.yml has it, not started yet."""
        environment = self.environment(KSCHEDWEB_PORT=str(port), **more)
        return Server(["python", "-m", "kschedweb.server"], self.folder / f"web-{port}.log", environment, self.root)

    def backstage(self) -> Backstage:
        return Backstage(self._env, self.folder / "backstage.log", self.root)


class Live:
    """One live scheduler on a recorded cluster, which its processes reach through ``proxy`` only."""

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, backstage: Backstage) -> None:
        self.plane, self.proxy, self.backstage = plane, proxy, backstage
        self.name = ""  # of the scheduler, as pods name it
        self.live = ""
        self._begin = 0

    # Setting up.

    def connect(self) -> None:
        token = self.plane.tokens["admin"]
        self.backstage("connect", name="real", server=self.proxy.url, ca=self.proxy.ca, token=token)

    def start(
        self,
        name: str,
        document: str = DOCUMENT,
        *,
        nodes: int = 0,
        cluster: str = "real",
        qps: int = 0,
        burst: int = 0,
        process: Json | None = None,
    ) -> None:
        """A new live scheduler ``name``, without client limits unless given, once somebody leads it.

        History begins here, with ``nodes`` new nodes. The cluster ``real`` is reached through the proxy. ``process`` is
        how kube-scheduler is started: release and feature gates, those of the cluster unless given.
        """
        self._begin = self.plane.audit_log.stat().st_size if self.plane.audit_log.exists() else 0
        self.nodes(nodes)
        self.name = name
        limits = {"qps": qps, "burst": burst, "process": process}
        self.live = self.backstage("live", cluster=cluster, scheduler=name, document=document, **limits)
        wait_until(lambda: self.leader() is not None, f"somebody leads {name}", step=0.2)

    def end(self) -> None:
        """The scheduler off, its pods and nodes gone."""
        self.backstage("mode", live=self.live, mode="off")
        self.plane.wipe()

    # The cluster.

    def nodes(self, count: int, **more: str) -> None:
        self.plane.create_nodes(seed.node(f"node-{number:03d}", **more) for number in range(count))

    def pods(self, names: Iterable[str], cpu: str = "100m", **more: Any) -> None:
        self.plane.create_all(PODS, [self.pod(name, cpu, **more) for name in names])

    def pod(self, name: str, cpu: str = "100m", labels: Json | None = None, **spec: Any) -> Json:
        requests = {"requests": {"cpu": cpu, "memory": "64Mi"}}
        container = {"name": "main", "image": "pause", "resources": requests}
        whole = {"schedulerName": self.name, "terminationGracePeriodSeconds": 0, "containers": [container]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}},
            "spec": whole | spec,
        }

    def heard_of(self, *nodes: str) -> None:
        """Return once the scheduler knows these nodes: it may hear of a pod before, and says so.

        It is asked by a pod for each, which goes with all that was said of it.
        """
        for node in nodes:
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            self.plane.call("POST", PODS, self.pod(f"knows-{node}", "1m", affinity={"nodeAffinity": required}))
        probes = {f"knows-{node}" for node in nodes}

        def probe_events() -> list[Json]:
            listed = self.plane.call("GET", EVENTS)["items"]
            return [event for event in listed if event["regarding"]["name"] in probes]

        def is_known() -> bool:
            return {event["regarding"]["name"] for event in probe_events() if event["reason"] == "Scheduled"} == probes

        wait_until(is_known, f"the scheduler knows {nodes}", step=0.05)
        for name in probes:
            self.plane.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        for event in probe_events():
            self.plane.call("DELETE", f"{EVENTS}/{event['metadata']['name']}")

    def listed(self) -> dict[str, Json]:
        """The pods as they are now, by name."""
        return {item["metadata"]["name"]: item for item in self.plane.call("GET", PODS)["items"]}

    def bound(self) -> dict[str, str]:
        """The node of each pod that has one."""
        nodes_by_pod = {name: item["spec"].get("nodeName", "") for name, item in self.listed().items()}
        return {name: node for name, node in nodes_by_pod.items() if node}

    def placed(self) -> dict[str, str]:
        """The same by uid."""
        items = self.listed().values()
        return {item["metadata"]["uid"]: node for item in items if (node := item["spec"].get("nodeName"))}

    def wait_bound(self, count: int, seconds: float = 60) -> None:
        """Until at least ``count`` pods are bound."""
        try:
            wait_until(lambda: len(self.bound()) >= count, f"{count} pods are bound", seconds=seconds, step=0.2)
        except TimeoutError as late:
            # Not asked of the database, which may be what is away.
            raise TimeoutError(f"{late}; {len(self.bound())} are") from None

    # The scheduler.

    def candidates(self) -> list[Json]:
        candidates: list[Json] = self.backstage("candidates", live=self.live)
        return candidates

    def leader(self) -> Json | None:
        """Return the leader's own report, once it knows the cluster."""
        leading = [
            candidate
            for candidate in self.candidates()
            if candidate["leading"] and candidate["synced"] and candidate["silent"] < 5
        ]
        return max(leading, key=lambda candidate: candidate["epoch"]) if leading else None

    # People.

    def requests(self) -> list[Json]:
        rows: list[Json] = self.backstage("requests", live=self.live)
        return rows

    def waiting(self, count: int, seconds: float = 30) -> list[Json]:
        """The requests that wait, once there are at least ``count``."""

        def waiting_requests() -> list[Json]:
            return [row for row in self.requests() if row["state"] == "waiting"]

        wait_until(lambda: len(waiting_requests()) >= count, f"{count} requests wait", seconds=seconds, step=0.1)
        return waiting_requests()

    def approve(self, rows: Iterable[Json]) -> None:
        assert self.backstage("decide", ids=[row["id"] for row in rows], verdict="approve") == []

    def change(self, **settings: Any) -> str:
        """Change settings of the scheduler; why that is refused, "" where it is not."""
        return str(self.backstage("change", live=self.live, **settings))

    # The verdict.

    def history(self) -> History:
        return History.read(self.plane.audit_log, self._begin)

    def check(self, *, server_killed: bool = False) -> History:
        """Wait until every request has ended; fails with every broken promise, and with what a process has wrong."""
        self.settle()
        ended = ("bound", "denied", "expired", "superseded", "failed")
        wait_until(lambda: all(row["state"] in ended for row in self.requests()), "all requests have ended", step=0.2)
        history = self.history()
        fields = ("uid", "pod", "node", "state", "reason", "granted")
        broken_promises = violations(
            history,
            scheduler=self.name,
            lease=f"kube-system/kschedweb-{self.name}",
            requests=[Request(**{name: row[name] for name in fields}) for row in self.requests()],
            asks=lambda pod: "approval" in (pod.raw["metadata"].get("labels") or {}),
            departures={call.audit_id: call.at for call in self.proxy.calls},
            bound_nodes=self.placed() if server_killed else None,
        )
        assert not broken_promises, "\n".join(broken_promises)
        self.compare()
        return history

    def compare(self) -> None:
        """Have every process compare what it knows with a fresh list; fails with each difference."""
        earlier_comparisons: dict[str, Any] = {}

        def ask_all() -> bool:
            """A process that has only just begun says so in a moment."""
            for candidate in self.candidates():
                if candidate["synced"] and candidate["silent"] < 5 and candidate["identity"] not in earlier_comparisons:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid_of(candidate), signal.SIGUSR2)
                        earlier_comparisons[candidate["identity"]] = candidate["comparison"]
            return bool(earlier_comparisons) and self.processes() <= {
                pid_of({"identity": identity}) for identity in earlier_comparisons
            }

        def answers() -> list[Json]:
            candidates = [candidate for candidate in self.candidates() if candidate["identity"] in earlier_comparisons]
            return [
                candidate["comparison"]
                for candidate in candidates
                if candidate["comparison"] != earlier_comparisons[candidate["identity"]]
            ]

        wait_until(ask_all, "every process knows the cluster", step=0.3)
        wait_until(lambda: len(answers()) == len(earlier_comparisons), "every process has compared", step=0.3)
        nodes = len(self.plane.call("GET", "/api/v1/nodes")["items"])
        for answer in answers():
            assert not answer["problem"], answer
            assert not answer["differences"], answer
            assert (answer["nodes"], answer["pods"], answer["assumed"]) == (nodes, len(self.bound()), 0), answer

    def processes(self) -> set[int]:
        """The ids of those that must take part, where they are known."""
        return set()

    def settle(self, seconds: float = 30) -> None:
        """Wait until the leader's cache counts what a fresh list counts; fails with both where it never does."""

        def same() -> bool:
            leader, pods = self.leader(), self.listed().values()
            if leader is None:
                return False
            depths = leader["depths"]
            placed = [pod for pod in pods if pod["spec"].get("nodeName")]
            return bool(depths["pods"] == len(placed) and depths["binding"] == 0)

        wait_until(same, f"the cache is a fresh list: {self.leader()}", seconds=seconds, step=0.3)


class LiveSite(Live):
    """A live site on PostgreSQL and Redis, with Celery workers that host the scheduler."""

    def __init__(
        self, plane: ControlPlane, proxy: FaultProxy, deployment: Deployment, postgres: PostgreSQL, broker: Redis
    ) -> None:
        super().__init__(plane, proxy, deployment.backstage())
        self.deployment, self.postgres, self.redis = deployment, postgres, broker
        self.workers: list[Server] = []
        self._started = 0

    def begin(self, name: str, workers: int, document: str = DOCUMENT, **more: Any) -> None:
        """``start`` with at least so many workers."""
        self.have_workers(workers)
        self.start(name, document, **more)

    def have_workers(self, count: int) -> None:
        """At least ``count`` workers run, or will in a moment."""
        while len(self.workers) < count:
            self.start_worker()

    def start_worker(self, **more: str) -> Server:
        self._started += 1
        worker = self.deployment.scheduler(f"scheduler-{self._started}", **more)
        self.workers.append(worker)
        worker.start()
        return worker

    def processes(self) -> set[int]:
        return {worker.pid for worker in self.workers if worker.alive}

    def replace_worker(self, old: Server, **more: str) -> Server:
        """Another process in the place of one that is dead."""
        self.workers.remove(old)
        return self.start_worker(**more)

    def leading_worker(self, seconds: float = 40) -> Server:
        """The process that leads, once one does, by its own word in the lease: ``host_pid_…``."""
        leaders: list[Server] = []

        def led() -> bool:
            leading = [
                candidate
                for candidate in self.candidates()
                if candidate["leading"] and candidate["synced"] and candidate["silent"] < 5
            ]
            for candidate in sorted(leading, key=lambda candidate: -candidate["epoch"]):
                leaders[:] = [
                    worker for worker in self.workers if worker.alive and f"_{worker.pid}_" in candidate["identity"]
                ]
                if leaders:
                    return True
            return False

        wait_until(led, f"somebody leads {self.name}", seconds=seconds, step=0.1)
        return leaders[0]

    def close(self) -> None:
        for worker in self.workers:
            worker.signal(signal.SIGTERM)
        for worker in self.workers:
            worker.stop(patience=5)
        self.backstage.close()


def pid_of(candidate: Json) -> int:
    """The process that a candidate is, by its identity ``host_pid_…``."""
    return int(candidate["identity"].rsplit("_", 2)[1])


@contextlib.contextmanager
def live_site(assets: Path, folder: Path, audit: Json = AUDIT_POLICY, flags: Sequence[str] = ()) -> Iterator[LiveSite]:
    """A cluster, its proxy, databases and a migrated site; a scheduler and its workers begin with ``begin``.

    ``flags``: more of the API server's.
    """
    with (
        ControlPlane(assets, folder, audit=audit, flags=flags).started() as plane,
        FaultProxy(plane, folder) as proxy,
        databases() as (postgres, broker),
    ):
        deployment = Deployment(folder, postgres.url, broker.url)
        site = LiveSite(plane, proxy, deployment, postgres, broker)
        try:
            site.connect()
            yield site
        finally:
            site.close()
