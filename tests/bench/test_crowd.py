"""Twenty people who read decisions at once, each of another pod, of one cluster or of four; ratios within the run."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import count
from threading import Lock

import pytest

from tests.bench.conftest import Wire
from tests.support.people import Person, at_once, percentile

pytestmark = pytest.mark.nightly

NODES, PODS, PEOPLE, PAGES = 2000, 8000, 20, 6
UNFAIR = 3.0  # times the median that one in twenty waits at most
COSTLY = 5.0  # times the processor time of a page of the frame alone


@pytest.fixture(scope="module", params=[1, 4])
def pages(wire: Wire, request: pytest.FixtureRequest) -> Callable[[], str]:
    """The address of another pod's decision at each call, of so many clusters in turn; the web process knows them."""
    names = [f"large-{request.param}-{number}" for number in range(request.param)]
    for name in names:
        wire.backstage("generated", name=name, nodes=NODES, pods=PODS)
    numbers, lock = count(), Lock()

    def another() -> str:
        with lock:
            number = next(numbers)
        return f"/decision/{names[number % len(names)]}/default/bound-{number:05d}/"

    for _ in names:
        assert wire.person("viewer").get(another()).status == 200
    return another


def spent(wire: Wire, person: Person, path: Callable[[], str], pages: int) -> float:
    """Milliseconds of the process's time on a core for each of so many pages."""
    before = wire.web.cpu()
    for _ in range(pages):
        assert person.get(path()).status == 200
    return (wire.web.cpu() - before) / pages


def test_a_decision_costs_a_few_times_what_an_empty_page_does(
    wire: Wire, pages: Callable[[], str], report: Callable[..., None]
) -> None:
    person = wire.person("admin")
    rounds = [(spent(wire, person, pages, 15), spent(wire, person, lambda: "/settings/", 15)) for _ in range(5)]
    times = statistics.median(page / plain for page, plain in rounds)
    remark = f"{times:.1f} times a page of the frame alone, at most {COSTLY}"
    report(f"processor, decision of {NODES:,} nodes", [page for page, _ in rounds], 0, remark)
    assert times <= COSTLY, remark


def test_nobody_starves(
    wire: Wire, pages: Callable[[], str], report: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    answers = at_once(wire.web.people(wire.backstage, "viewer", PEOPLE), pages, PAGES)
    assert {answer.status for answer in answers} == {200}
    waits = [answer.milliseconds for answer in answers]
    middle, late = statistics.median(waits), percentile(waits, 95)
    kind = request.node.callspec.params["pages"]
    report(
        f"{PEOPLE} people at once, clusters: {kind}",
        waits,
        0,
        f"p95 {late:.0f} ms, {late / middle:.1f} times the median",
    )
    assert late < UNFAIR * middle
