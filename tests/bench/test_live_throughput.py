"""Pods a second on the real API server: the stock kube-scheduler and ours, one after the other in one run.

Limited: the scheduler waits, then pods come twice as fast as it may bind them; both ask at kube-scheduler's default 50
calls a second. Unlimited: the pods are there before the scheduler begins, so that creating them takes nothing from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.engine.json_types import Json
from tests.bench.live import MEASURING, Measured, Meter, children, create_paced, delete_pods, measure, pod
from tests.support.kubescheduler import kube_scheduler
from tests.support.livesite import LiveSite, live_site

SIZES = {False: (200, 600), True: (1000, 5000)}  # nodes, pods; the larger with --long
QPS, BURST = 50, 100
PACE = 100  # pods created a second, where the scheduler is limited
LEAST_RATE = 0.5  # of kube-scheduler's, without limits
ROUNDS = 3  # without limits all is over in seconds, and a shared machine has bad ones: the best counts
CONFIG: Json = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

pytestmark = [pytest.mark.live, pytest.mark.nightly]


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory, long: bool) -> Iterator[LiveSite]:
    with live_site(assets, tmp_path_factory.mktemp("throughput"), MEASURING) as site:
        site.backstage(
            "connect", name="direct", server=site.plane.url, ca=site.plane.ca, token=site.plane.tokens["admin"]
        )
        site.nodes(SIZES[long][0])
        site.have_workers(1)
        yield site


def servers(site: LiveSite) -> dict[str, list[int]]:
    return {"API server": [site.plane.apiserver.pid], "etcd": [site.plane.etcd.pid]}


def theirs(site: LiveSite, count: int, limited: bool) -> Measured:
    """The stock kube-scheduler's figures."""
    meter, names = Meter(site.plane), [f"theirs-{number}" for number in range(count)]
    document = CONFIG | {"profiles": [{"schedulerName": "stock"}]}
    qps, burst = (QPS, BURST) if limited else (100_000, 100_000)

    def create() -> None:
        create_paced(site.plane, [pod(name, "stock") for name in names], PACE if limited else 0)

    if not limited:
        create()
    with kube_scheduler(site.plane, document, qps=qps, burst=burst):
        parts = {"scheduler": children("kube-scheduler"), **servers(site)}
        figures = measure(meter, names, create if limited else lambda: None, parts)
    delete_pods(site.plane)
    return figures


def ours(site: LiveSite, count: int, limited: bool, turn: int = 1) -> Measured:
    """Our figures: the whole of a scaled-out scheduler worker, every decision kept."""
    name = "live-limited" if limited else f"live-free-{turn}"
    meter, names = Meter(site.plane), [f"ours-{number}" for number in range(count)]
    qps, burst = (QPS, BURST) if limited else (0, 0)

    def create() -> None:
        create_paced(site.plane, [pod(pod_name, name) for pod_name in names], PACE if limited else 0)

    def resume() -> None:
        site.backstage("resume", live=site.live)

    site.begin(name, 1, PLAIN, cluster="direct", qps=qps, burst=burst)
    if not limited:
        site.backstage("pause", live=site.live)
        create()
    parts = {
        "scheduler": [worker.pid for worker in site.workers],
        **servers(site),
        "PostgreSQL": [site.postgres.pid],
        "Redis": [site.redis.pid],
    }
    figures = measure(meter, names, create if limited else resume, parts)
    site.backstage("mode", live=site.live, mode="off")
    delete_pods(site.plane)
    return figures


def tell(title: str, our_figures: Measured, their_figures: Measured) -> None:
    print(f"\n{title}: {our_figures.rate / their_figures.rate:.2f} times as many pods a second")
    for name, figures in (("here", our_figures), ("kube-scheduler", their_figures)):
        print(
            f"  {name:<15}{figures.rate:>8,.0f} pods/s, creation to bound {figures.median:.2f} s (median) and "
            f"{figures.p99:.2f} s (p99)\n{'':17}processors a pod: {figures.shares()}, in {1000 / figures.rate:.2f} ms"
        )


def test_as_many_pods_a_second_at_the_default_client_limits(site: LiveSite, long: bool) -> None:
    count = SIZES[long][1]
    their_figures, our_figures = theirs(site, count, limited=True), ours(site, count, limited=True)
    tell(f"limited to {QPS}/s, {SIZES[long][0]:,} nodes, {count:,} pods", our_figures, their_figures)
    # Both wait for the same tokens; the room is for how evenly a shared machine lets pods be created, and none is bound
    # before it is there.
    assert our_figures.rate >= (0.99 if long else 0.95) * min(their_figures.rate, our_figures.arrivals)
    assert our_figures.median <= (1.02 if long else 1.15) * their_figures.median + (0 if long else 0.5)


def test_pods_a_second_without_client_limits(site: LiveSite, long: bool) -> None:
    count, best = SIZES[long][1], 0.0
    for turn in range(1, ROUNDS + 1):
        their_figures, our_figures = theirs(site, count, limited=False), ours(site, count, limited=False, turn=turn)
        tell(f"no limits, {SIZES[long][0]:,} nodes, {count:,} pods, round {turn}", our_figures, their_figures)
        best = max(best, our_figures.rate / their_figures.rate)
        if best >= LEAST_RATE:
            break
    assert best >= LEAST_RATE
