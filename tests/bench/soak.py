"""A live scheduler under churn for as long as asked: its memory, threads and open files must stay what they were.

``python -m tests.bench.soak --minutes 30`` brings a real API server, PostgreSQL, Redis and a scheduler worker; pods
come and go all the time, some wait for people, nodes are replaced, watches are cut. It prints a line a minute, and
ends with status 1 where the worker grew; a broken promise is raised. Not part of CI.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.support import seed
from tests.support.livesite import APPROVAL_LABELS, PODS, LiveSite, live_site

NODES, KEPT_PODS = 60, 1500  # nodes, and pods that are there at a time
ROUND_SECONDS = 1.0  # seconds between rounds
COME = 25  # pods a round; as many of the oldest go
WARM = 0.34  # of the time, after which memory counts
ROOM = 1.08  # times the resident memory after warming up


@dataclass(frozen=True)
class Sample:
    """One look at the worker: resident memory in MiB, threads, open files."""

    memory: float
    threads: int
    files: int

    @classmethod
    def take(cls, pid: int) -> Sample:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return cls(
            memory=int(status["VmRSS"].split()[0]) / 1024,
            threads=int(status["Threads"]),
            files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        )


class Churn:
    """Pods come and go, one round after the other."""

    def __init__(self, site: LiveSite) -> None:
        self.site = site
        self.rounds = 0
        self._names = (f"pod-{number:07d}" for number in count())
        self._there: deque[str] = deque()

    def turn(self) -> None:
        self.rounds += 1
        names = [next(self._names) for _ in range(COME)]
        self.site.pods(names[:-1], cpu="50m")
        self.site.pods(names[-1:], cpu="50m", labels=APPROVAL_LABELS)
        self._there.extend(names)
        if len(self._there) > KEPT_PODS:
            oldest = [self._there.popleft() for _ in range(COME)]
            self.site.plane.parallel(lambda name: self.site.plane.request("DELETE", f"{PODS}/{name}"), oldest)
        if self.rounds % 5 == 0:
            self.approve()
        if self.rounds % 30 == 0:
            self.site.proxy.cut_watches()
        if self.rounds % 60 == 0:
            name = f"node-extra-{self.rounds}"
            self.site.plane.create_nodes([seed.node(name)])
            self.site.plane.request("DELETE", f"/api/v1/nodes/node-extra-{self.rounds - 60}")

    def approve(self) -> None:
        """Let all go that wait; some may be gone by themselves."""
        rows = [row for row in self.site.requests() if row["state"] == "waiting"]
        if rows:
            self.site.backstage("decide", ids=[row["id"] for row in rows], verdict="approve")


def soak(site: LiveSite, seconds: float) -> list[Sample]:
    """A sample each ten seconds."""
    churn, samples = Churn(site), []
    begun = next_report = next_sample = time.monotonic()
    while (now := time.monotonic()) < begun + seconds:
        churn.turn()
        if now >= next_sample:
            next_sample = now + 10
            samples.append(Sample.take(site.workers[0].pid))
        if now >= next_report:
            next_report = now + 60
            leader, last = site.leader() or {}, samples[-1]
            print(
                f"{(now - begun) / 60:5.1f} min: {last.memory:6.1f} MiB, {last.threads} threads, {last.files} files; "
                f"{leader.get('bound', 0):,} pods bound, latency {leader.get('latency')}",
                flush=True,
            )
        time.sleep(max(0.0, ROUND_SECONDS - (time.monotonic() - now)))
    site.wait_bound(len(site.listed()) - COME)
    churn.approve()
    site.check()
    return samples


def grown(samples: list[Sample]) -> str:
    """Describe the first growth after warming up; "" if nothing grew."""
    warm = samples[int(WARM * len(samples)) :]
    third = max(1, len(warm) // 3)
    first, last = warm[:third], warm[-third:]
    for name, room in (("memory", ROOM), ("threads", 1.25), ("files", 1.25)):
        before = max(getattr(sample, name) for sample in first)
        after = sum(getattr(sample, name) for sample in last) / len(last)
        if after > room * before:
            return f"{name} grew from {before:.1f} to {after:.1f}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    arguments = parser.parse_args()
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets:
        print("Set KUBEBUILDER_ASSETS to the folder of the test control plane.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kschedweb-soak-") as folder, live_site(Path(assets), Path(folder)) as site:
        site.begin("soak", 1, nodes=NODES)
        samples = soak(site, 60 * arguments.minutes)
        problem = grown(samples)
        print(f"from {samples[0].memory:.1f} to {samples[-1].memory:.1f} MiB; {problem or 'nothing grew'}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
