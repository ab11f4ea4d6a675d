"""Resources that clusters of each size need: the table «Sizes» of docs/operations.md.

``python -m tests.bench.sizes`` brings PostgreSQL, Redis, a web process and a worker, as docker-compose.yml starts them,
and imports clusters of growing size with ten pods a node, as people do. For each it prints what a snapshot takes in the
database, the work of reading it in, of pages and of a question about capacity, and the memory of the processes. Work is
seconds of a processor, so that others may work beside it. Not part of CI.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.bench.crowd import family, resident
from tests.support import seed
from tests.support.databases import databases
from tests.support.livesite import Deployment
from tests.support.people import Answer, Person, Web, percentile, processor_time
from tests.support.processes import Server, wait_until

MIB = 2**20
REPEATS = 5  # times that a page is asked for; the middle one counts
PATIENCE = 1800.0  # seconds
HEAD = """\
| nodes | pods | a snapshot in the database, MiB | import, s | first decision, s | next, pods, overview, s \
| capacity, s | web, worker, MiB |
|---|---|---|---|---|---|---|---|"""


@dataclass
class MeasuredSite:
    """The site at work, with one person who uses it."""

    url: str  # of the database
    web: Web
    worker: Server
    person: Person

    def stored(self) -> int:
        """Bytes of the database without what was deleted."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM FULL")
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0])

    def spent(self, pid: int) -> float:
        """Seconds of a processor of a process with its children."""
        return sum(map(processor_time, family(pid))) / 1000

    def opened(self, path: str) -> float:
        """Seconds of a processor that the web process spends on a page."""
        before = self.spent(self.web.server.pid)
        good(self.person.get(path))
        return self.spent(self.web.server.pid) - before

    def median_seconds(self, path: str) -> float:
        return percentile([self.opened(path) for _ in range(REPEATS)], 50)

    def memory(self) -> list[float]:
        return [sum(map(resident, family(pid))) for pid in (self.web.server.pid, self.worker.pid)]


def good(answer: Answer) -> Answer:
    if not 200 <= answer.status < 300:
        raise RuntimeError(f"{answer.status}: {answer.body[:500]!r}")
    return answer


@contextmanager
def brought(folder: Path) -> Iterator[MeasuredSite]:
    with databases() as (postgres, redis):
        deployment = Deployment(folder, postgres.url, redis.url)
        web, worker, backstage = Web(deployment, "web"), deployment.service("worker", "worker"), deployment.backstage()
        try:
            web.start()
            worker.start()
            person = Person(web.port, backstage("log_in", person="admin", role="admin"))
            yield MeasuredSite(postgres.url, web, worker, person)
        finally:
            backstage.close()
            worker.stop()
            web.server.stop()


def imported(site: MeasuredSite, name: str, objects: list[dict[str, Any]]) -> None:
    """The cluster is there, and what is worked out when it arrives."""
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    address = f"/api/v1/clusters/import/?name={name}"
    answer = good(site.person.ask("POST", address, body, **{"Content-Type": "application/json"}))
    if answer.status == 202:
        wait_until(lambda: are_jobs_done(site), f"{name} is there, see {site.worker.log}", seconds=PATIENCE, step=1.0)


def are_jobs_done(site: MeasuredSite) -> bool:
    """Return whether no job is left; raise an error for a failed one."""
    jobs = good(site.person.get("/api/v1/jobs/")).json()["results"]
    if failed := [job for job in jobs if job["state"] in ("failed", "cancelled")]:
        raise RuntimeError(str(failed[0]))
    return {job["state"] for job in jobs} <= {"succeeded"}


def capacity(site: MeasuredSite, name: str) -> None:
    """A question is asked and answered."""
    question = {
        "cluster": name,
        "policy": "default",
        "pod": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "limit": 1000,
    }
    if good(site.person.post("/api/v1/capacity/fit/", question)).status == 202:
        wait_until(lambda: are_jobs_done(site), "capacity is answered", seconds=PATIENCE, step=0.5)


def line(site: MeasuredSite, nodes: int) -> str:
    """The row of the table for a cluster of ``nodes``."""
    name, pods = f"size-{nodes}", 10 * nodes
    stored, worker_seconds = site.stored(), site.spent(site.worker.pid)
    imported(site, name, seed.cluster(nodes, pods))
    worker_seconds = site.spent(site.worker.pid) - worker_seconds
    stored = site.stored() - stored
    site.web.restart()
    site.opened("/settings/")  # what every first page of a process waits for
    decision = f"/decision/{name}/default/pending-00000/"
    first = site.opened(decision)
    pages = [site.median_seconds(path) for path in (decision, f"/pods/?cluster={name}", f"/?cluster={name}")]
    question_seconds = site.spent(site.worker.pid) + site.spent(site.web.server.pid)
    capacity(site, name)
    question_seconds = site.spent(site.worker.pid) + site.spent(site.web.server.pid) - question_seconds
    cells = [
        f"{nodes:,}", f"{pods:,}", f"{stored / MIB:,.0f}", f"{worker_seconds:.1f}", f"{first:.1f}",
        ", ".join(f"{value:.2f}" for value in pages), f"{question_seconds:.1f}",
        ", ".join(f"{value:,.0f}" for value in site.memory()),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=(100, 500, 1000, 2000, 5000))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kschedweb-sizes-") as folder, brought(Path(folder)) as site:
        print(HEAD, flush=True)
        for nodes in arguments.nodes:
            print(line(site, nodes), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
