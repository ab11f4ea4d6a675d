"""A hundred people on the scaled-out site while Redis, then PostgreSQL, go away and return.

``python -m tests.bench.crowd --minutes 5`` brings a real API server, PostgreSQL, Redis, two web processes, a worker, a
scheduler and beat, as docker-compose.yml starts them. 40 people look at a live scheduler with its stream, 30 read
decisions of a cluster of 5,000 nodes and 50,000 pods, 10 edit policies, 10 run what-ifs, 10 approve; each thinks for 1
to 5 seconds between two pages. It prints what they were told, connections and memory, and ends with status 1 where a
promise is broken: no 500, 503 with Retry-After only while something is away, connections and memory flat, and 95 of
100 pages within a second outside the outages. Not part of CI.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psycopg

from tests.support.crowd import THINK, Approver, Editor, Log, Player, Reader, TimedAnswer, Watcher, Worker, at_work
from tests.support.livesite import APPROVAL_LABELS, PODS, Deployment, LiveSite, live_site
from tests.support.people import UNANSWERED, Person, Web, percentile
from tests.support.processes import Server

LARGE = "large"
MIX = {"watcher": 0.4, "reader": 0.3, "editor": 0.1, "player": 0.1, "approver": 0.1}
ROLES = {"editor": "editor", "player": "editor", "approver": "approver"}
ROLES |= dict.fromkeys(("watcher", "reader", "walker", "overseer"), "viewer")
AFTERWARDS = 15.0  # seconds after its return in which what was away may still be missed
LOOK = 5.0  # seconds between two looks at connections and memory
WARM = 0.3  # of the time, after which memory and connections count
ROOM = 1.25  # times what they were after warming up
JOBS = 2  # processes of a worker that compute at once
CONFLICTS = (409, 412, 429)  # another one was first, or the person asked for more than their share


@dataclass
class Outage:
    """Outage of ``name``, on the monotonic clock; ``ended`` has the time that its return is given."""

    name: str
    begun: float
    ended: float = float("inf")

    def touches(self, row: TimedAnswer) -> bool:
        return row.begun < self.ended and row.ended > self.begun


@dataclass
class Look:
    """Connections to the database (``None`` while it is away), and of each process with its children the MiB of memory
    and the seconds of a processor so far."""

    at: float
    connections: int | None
    memory: dict[str, float]
    processor: dict[str, float]


@dataclass
class Trial:
    """The site under the crowd, and all that was seen of it."""

    site: LiveSite
    webs: list[Web]
    servers: dict[str, Server]
    log: Log = field(default_factory=Log)
    outages: list[Outage] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    @contextmanager
    def repeating(self, do: Callable[[], None], interval: float) -> Iterator[None]:
        """``do`` again and again in a thread."""
        ended = threading.Event()

        def work() -> None:
            while not ended.wait(interval):
                do()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(30)

    def look(self) -> None:
        memory = {name: sum(map(resident, family(server.pid))) for name, server in self.servers.items()}
        plane, connection_count = self.site.plane, connections(self.site.postgres.url)
        databases = {"PostgreSQL": self.site.postgres, "Redis": self.site.redis}
        everything = self.servers | databases | {"etcd": plane.etcd, "API": plane.apiserver}
        processor = {name: spent(server.pid) for name, server in everything.items() if server.alive}
        self.looks.append(Look(time.monotonic(), connection_count, memory, processor | {"people": sum(os.times()[:2])}))

    def away(self, name: str, server: Server, seconds: float) -> None:
        """Take a server away for so long, and bring it back."""
        outage = Outage(name, time.monotonic())
        self.outages.append(outage)
        print(f"{name} goes away", flush=True)
        server.kill()
        time.sleep(seconds)
        server.start()
        outage.ended = time.monotonic() + AFTERWARDS
        print(f"{name} is back after {time.monotonic() - outage.begun:.0f} s", flush=True)

    def during(self, row: TimedAnswer) -> bool:
        return any(outage.touches(row) for outage in self.outages)


def resident(pid: int) -> float:
    """MiB of memory; 0 for a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def spent(pid: int) -> float:
    """Seconds of a processor that a process and its children have used, those included that have ended."""
    ticks = 0
    for number, member in enumerate(family(pid)):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:13] if number else fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> Iterator[int]:
    """A process and all that it has started."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def connections(url: str) -> int | None:
    """Count connections beside the one that asks; ``None`` where the database does not answer."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        return None
    return int(row[0]) if row else None


@contextmanager
def brought(assets: Path, folder: Path, nodes: int, pods: int) -> Iterator[Trial]:
    """The whole site, with a large cluster, a live scheduler and scenarios to play."""
    with live_site(assets, folder) as site, ExitStack() as ending:
        deployment = site.deployment
        deployment.manage("load_scenarios")
        site.backstage("generated", name=LARGE, nodes=nodes, pods=pods)
        webs, servers = served(deployment, ending, workers=1)
        site.begin("crowd", workers=1, nodes=20)
        yield Trial(site, webs, servers | {"scheduler": site.workers[0]})


def served(deployment: Deployment, ending: ExitStack, workers: int) -> tuple[list[Web], dict[str, Server]]:
    """Two web processes, workers and beat at work until ``ending``, as docker-compose.yml starts them."""
    webs = [Web(deployment, f"web-{number}") for number in (1, 2)]
    background = {
        f"worker-{number}": deployment.service("worker", f"worker-{number}") for number in range(1, workers + 1)
    }
    background["beat"] = deployment.service("beat", "beat-1")
    servers = {f"web-{number}": web.server for number, web in enumerate(webs, start=1)} | background
    for server in servers.values():
        ending.callback(server.stop)
    for web in webs:
        web.start()
    for name, server in background.items():
        server.start()
        os.setpriority(os.PRIO_PROCESS, server.pid, niceness(deployment, name.partition("-")[0]))
    return webs, servers


def niceness(deployment: Deployment, service: str) -> int:
    """Compute the niceness that gives a process the CPU share of the service in docker-compose.yml."""
    shares = deployment.composed(service).get("cpu_shares")
    return round(math.log(1024 / (shares / JOBS), 1.25)) if shares else 0


def hired(trial: Trial, people: int, pods: int) -> list[Worker]:
    """The people, each with a session, half of them at either web process."""
    site, log, scenarios, bound = trial.site, trial.log, played(trial), pods * 8 // 10
    jobs: dict[str, Callable[[Person, int], Worker]] = {
        "watcher": lambda person, seed: Watcher(person, log, seed, site.live),
        "reader": lambda person, seed: Reader(person, log, seed, LARGE, bound),
        "editor": lambda person, seed: Editor(person, log, seed),
        "player": lambda person, seed: Player(person, log, seed, scenarios[seed % len(scenarios)]),
        "approver": lambda person, seed: Approver(person, log, seed),
    }
    return hire(trial, people, MIX, jobs)


def played(trial: Trial) -> list[str]:
    """The scenarios that people play."""
    (guest,) = trial.webs[0].people(trial.site.backstage, "viewer", 1)
    listed = guest.get("/api/v1/scenarios/").json()["results"]
    return [row["id"] for row in listed if row["name"].startswith("Spread")]


def hire(
    trial: Trial, people: int, mix: dict[str, float], jobs: dict[str, Callable[[Person, int], Worker]]
) -> list[Worker]:
    """``people`` in all, each job with its share of ``mix``; they sit at the web processes in turn."""
    workers: list[Worker] = []
    for job, share in mix.items():
        for _ in range(max(1, round(share * people))):
            seed = len(workers)
            (person,) = trial.webs[seed % 2].people(trial.site.backstage, ROLES[job], 1)
            workers.append(jobs[job](person, seed))
    return workers


class Arrivals:
    """Pods that ask for approval, a few at each call; the oldest go."""

    def __init__(self, site: LiveSite) -> None:
        self.site, self.made = site, 0

    def __call__(self) -> None:
        names = [f"asked-{self.made + number:05d}" for number in range(3)]
        self.site.pods(names, cpu="10m", labels=APPROVAL_LABELS)
        self.made += len(names)
        for number in range(self.made - 303, self.made - 300):
            if number >= 0:
                self.site.plane.request("DELETE", f"{PODS}/asked-{number:05d}")


def hold(trial: Trial, workers: list[Worker], minutes: float, away: float) -> None:
    """The crowd for so long; Redis goes away after a fifth of the time, PostgreSQL after three fifths."""
    begun, seconds = time.monotonic(), 60 * minutes
    with trial.repeating(trial.look, LOOK), trial.repeating(Arrivals(trial.site), 2.0), at_work(workers, trial.log):
        for name, server, share in (("Redis", trial.site.redis, 0.2), ("PostgreSQL", trial.site.postgres, 0.6)):
            time.sleep(max(0.0, begun + share * seconds - time.monotonic()))
            trial.away(name, server, away)
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
    trial.look()


# What came of it.


def right(row: TimedAnswer, during: bool) -> bool:
    """Return whether a person may get this answer."""
    if row.status == 503:
        return during and row.retry_after > 0
    if row.kind == "stream went on":  # a stream may break off with what it tells about
        return during
    return 200 <= row.status < 300 or row.status in CONFLICTS


def wrong(trial: Trial) -> list[str]:
    """The broken promises about answers, each with an example."""
    rows_by_kind: dict[tuple[str, int, bool], list[TimedAnswer]] = {}
    for row in trial.log.rows:
        if not right(row, during := trial.during(row)):
            rows_by_kind.setdefault((row.kind, row.status, during), []).append(row)
    lines = []
    for (kind, status, during), rows in sorted(rows_by_kind.items()):
        outcome = (
            "no answer" if status == UNANSWERED else "503 without Retry-After, or late," if status == 503 else status
        )
        when = "during an outage" if during else "outside the outages"
        lines.append(f"{kind}: {len(rows)} times {outcome} {when}: {rows[0].words}")
    return lines


def grown(trial: Trial) -> list[str]:
    """List values that grew but should be flat: connections, and the memory of each process."""
    warm = trial.looks[int(WARM * len(trial.looks)) :]
    series = {"connections": [float(look.connections) for look in warm if look.connections is not None]}
    series |= {f"MiB of {name}": [look.memory[name] for look in warm] for name in trial.servers}
    lines = []
    for name, values in series.items():
        third = max(1, len(values) // 3)
        before, after = max(values[:third], default=0), sum(values[-third:]) / third
        if after > ROOM * before:
            lines.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return lines


def slow(trial: Trial, limit: float) -> list[str]:
    late = percentile([row.milliseconds for row in answered(trial, trial.log.rows, during=False)], 95)
    return [f"p95 outside the outages is {late:.0f} ms, wanted are {limit:.0f} ms"] if late > limit else []


def answered(trial: Trial, rows: Iterable[TimedAnswer], *, during: bool) -> list[TimedAnswer]:
    good = (row for row in rows if 200 <= row.status < 300 and "stream" not in row.kind)
    return [row for row in good if trial.during(row) == during]


def tell(trial: Trial) -> None:
    """Every kind of page, and how the processes fared."""
    print(f"\n{'':<18}{'count':>7}  {'outside the outages, ms':^27}{'during them, ms':^27}  statuses")
    print(f"{'':<25}" + f"{'p50':>9}{'p95':>9}{'p99':>9}" * 2)
    for kind in sorted({row.kind for row in trial.log.rows}):
        rows = [row for row in trial.log.rows if row.kind == kind]
        statuses = Counter(row.status or "none" for row in rows)
        times = ""
        for during in (False, True):
            took = [row.milliseconds for row in answered(trial, rows, during=during)]
            times += "".join(f"{percentile(took, percent):>9.0f}" for percent in (50, 95, 99))
        counts = ", ".join(f"{status} × {number}" for status, number in statuses.items())
        print(f"{kind:<18}{len(rows):>7}{times}  {counts}")
    print(f"\n{trial.log.events:,} events came by streams.")
    print(f"This machine has {os.cpu_count()} cores; {os.getloadavg()[1]:.1f} threads wanted one on average.")
    shares(trial.looks[:: max(1, len(trial.looks) // 12)])
    print(f"\n{'seconds':>8}{'connections':>13}" + "".join(f"{name:>12}" for name in trial.servers) + "   (MiB)")
    for look in trial.looks[:: max(1, len(trial.looks) // 12)]:
        connection_text = "away" if look.connections is None else look.connections
        memory = "".join(f"{look.memory[name]:>12.0f}" for name in trial.servers)
        print(f"{look.at - trial.looks[0].at:>8.0f}{connection_text:>13}{memory}")


def shares(looks: list[Look]) -> None:
    """Return the share of one core that each process used between two samples."""
    names = list(looks[0].processor)
    print(f"\n{'seconds':>8}" + "".join(f"{name:>11}" for name in names) + "   (% of a core)")
    for earlier, later in pairwise(looks):
        took = later.at - earlier.at
        shared = (later.processor.get(name, 0.0) - earlier.processor.get(name, 0.0) for name in names)
        print(f"{later.at - looks[0].at:>8.0f}" + "".join(f"{share / took:>11.0%}" for share in shared))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--away", type=float, default=30, help="seconds of each outage")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    # A hundred people fill two cores: it is about a second there, and several more where others work beside them.
    parser.add_argument("--p95", type=float, default=3000, help="milliseconds")
    arguments = parser.parse_args()
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        print("Set KUBEBUILDER_ASSETS to the folder of the test control plane.", file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(prefix="kschedweb-crowd-") as folder,
        brought(Path(assets), Path(folder), arguments.nodes, arguments.pods) as trial,
    ):
        alone = [read_alone(web, trial) for web in trial.webs]
        workers = hired(trial, arguments.people, arguments.pods)
        print(f"{len(workers)} people think for {THINK[0]:g} to {THINK[1]:g} s between two pages", flush=True)
        hold(trial, workers, arguments.minutes, arguments.away)
        tell(trial)
        print(f"A decision took one person alone {min(alone):.0f} ms.")
        broken = [*wrong(trial), *grown(trial), *slow(trial, arguments.p95)]
    print("\n" + ("\n".join(f"BROKEN {line}" for line in broken) or "Every promise was kept."))
    return 1 if broken else 0


def read_alone(web: Web, trial: Trial) -> float:
    """Milliseconds of a decision while nobody else is there; the web process has read the cluster then."""
    (person,) = web.people(trial.site.backstage, "viewer", 1)
    took = [person.get(f"/decision/{LARGE}/default/pending-{number:05d}/").milliseconds for number in range(6)]
    return percentile(took[1:], 50)


if __name__ == "__main__":
    sys.exit(main())
