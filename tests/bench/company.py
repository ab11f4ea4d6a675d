"""Two hundred people on a hundred clusters, ten of which are scheduled live on one API server.

``python -m tests.bench.company --minutes 5`` brings a real API server, PostgreSQL, Redis, two web processes, two
workers, a scheduler and beat, as docker-compose.yml starts them. 90 clusters of 500 nodes and 2,000 pods are imported;
ten more are the API server, followed by a live scheduler each. 120 people walk through the imported clusters, 30 look
at all of them at once, 20 watch a live scheduler with its stream, 20 edit policies, 10 play scenarios. It prints what
they were told, connections and memory, and ends with status 1 where an answer is wrong, memory or connections grow, or
95 of 100 lists or decisions take longer than ``--p95``. Not part of CI.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.crowd import LOOK, Trial, answered, grown, hire, played, served, tell, wrong
from tests.support.crowd import Editor, Overseer, Player, Walker, Watcher, Worker, at_work
from tests.support.livesite import live_site
from tests.support.people import Person, percentile

NODES, PODS = 500, 2000  # of an imported cluster
MIX = {"walker": 0.6, "overseer": 0.15, "watcher": 0.1, "editor": 0.1, "player": 0.05}
LISTS = ("overview", "pods", "nodes", "decision", "fleet", "clusters", "search of all")
BOUND = PODS * 8 // 10  # whose names are sure to be there


@contextmanager
def brought(assets: Path, folder: Path, imported: int, live: int) -> Iterator[tuple[Trial, list[str], list[str]]]:
    """The site at work, the names of imported clusters, and the ids of live schedulers."""
    with live_site(assets, folder) as site, ExitStack() as ending:
        deployment = site.deployment
        deployment.manage("load_scenarios")
        names = [f"cluster-{number:03d}" for number in range(imported)]
        for name in names:
            site.backstage("generated", name=name, nodes=NODES, pods=PODS)
        print(f"{imported} clusters are imported", flush=True)
        webs, servers = served(deployment, ending, workers=2)
        site.have_workers(1)
        site.nodes(50)
        proxy, token = site.proxy, site.plane.tokens["admin"]
        schedulers = []
        for number in range(live):
            cluster = f"live-{number}"
            site.backstage("connect", name=cluster, server=proxy.url, ca=proxy.ca, token=token)
            site.start(f"company-{number}", cluster=cluster)
            schedulers.append(site.live)
        print(f"{live} clusters are followed live", flush=True)
        yield Trial(site, webs, servers | {"scheduler": site.workers[0]}), names, schedulers


def hired(
    trial: Trial, people: int, clusters: list[str], schedulers: list[str], think: tuple[float, float]
) -> list[Worker]:
    """The people, each with a session, half of them at either web process."""
    log, scenarios = trial.log, played(trial)
    jobs: dict[str, Callable[[Person, int], Worker]] = {
        "walker": lambda person, seed: Walker(person, log, seed, clusters, BOUND),
        "overseer": lambda person, seed: Overseer(person, log, seed),
        "watcher": lambda person, seed: Watcher(person, log, seed, schedulers[seed % len(schedulers)]),
        "editor": lambda person, seed: Editor(person, log, seed),
        "player": lambda person, seed: Player(person, log, seed, scenarios[seed % len(scenarios)]),
    }
    workers = hire(trial, people, MIX, jobs)
    for worker in workers:
        worker.think = think
    return workers


class Churn:
    """A pod for each live scheduler at each call; the oldest go."""

    KEEP_CALLS = 20  # calls after which a pod goes

    def __init__(self, trial: Trial, schedulers: int) -> None:
        self.site, self.schedulers, self.made = trial.site, schedulers, 0

    def __call__(self) -> None:
        for number in range(self.schedulers):
            name = f"company-{number}"
            self.site.pods([f"{name}-{self.made:05d}"], cpu="10m", schedulerName=name)
            if self.made >= self.KEEP_CALLS:
                self.site.plane.request(
                    "DELETE", f"/api/v1/namespaces/default/pods/{name}-{self.made - self.KEEP_CALLS:05d}"
                )
        self.made += 1


def slow(trial: Trial, limit: float) -> list[str]:
    """The kinds of lists and decisions that are slower than wished."""
    lines = []
    for kind in LISTS:
        rows = [row for row in trial.log.rows if row.kind == kind]
        late = percentile([row.milliseconds for row in answered(trial, rows, during=False)], 95)
        if late > limit:
            lines.append(f"p95 of {kind} is {late:.0f} ms, wanted are {limit:.0f} ms")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--imported", type=int, default=90)
    parser.add_argument("--live", type=int, default=10)
    parser.add_argument("--think", type=float, nargs=2, default=(15.0, 45.0), help="seconds between two pages")
    parser.add_argument("--p95", type=float, default=500, help="milliseconds")
    arguments = parser.parse_args()
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        print("Set KUBEBUILDER_ASSETS to the folder of the test control plane.", file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(prefix="kschedweb-company-") as folder,
        brought(Path(assets), Path(folder), arguments.imported, arguments.live) as (trial, clusters, schedulers),
    ):
        workers = hired(trial, arguments.people, clusters, schedulers, tuple(arguments.think))
        print(f"{len(workers)} people think for {arguments.think[0]:g} to {arguments.think[1]:g} s", flush=True)
        begun = time.monotonic()
        churn = Churn(trial, len(schedulers))
        with trial.repeating(trial.look, LOOK), trial.repeating(churn, 5.0), at_work(workers, trial.log):
            time.sleep(60 * arguments.minutes)
        took = time.monotonic() - begun
        tell(trial)
        print(f"{len(trial.log.rows) / took:.1f} answers a second")
        broken = [*wrong(trial), *grown(trial), *slow(trial, arguments.p95)]
    print("\n" + ("\n".join(f"BROKEN {line}" for line in broken) or "Every promise was kept."))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
