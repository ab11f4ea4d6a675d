"""The flight recorder of a real cluster while its database is gone for a minute, and with it the process that records.

Whatever is asked as of a moment afterwards is what the API server had then, or is said not to be known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.livesite import LiveSite, live_site
from tests.support.processes import wait_until
from tests.support.site import Site

pytestmark = pytest.mark.nightly
AWAY = 60.0  # seconds
STEP = 3.0  # seconds between two pods; within them the recorder has heard of the one before
Moments = dict[datetime, set[str]]


class Recorded:
    """A cluster whose flight recorder is on, pods that come to it, and who was there when."""

    def __init__(self, site: LiveSite, web: Site) -> None:
        self.site, self.web, self.made = site, web, 0
        self.web.ask("PUT", "clusters/real/flight/", {"on": True})
        wait_until(lambda: bool(self.list_stretches()), "a moment is known", seconds=600)

    def list_stretches(self) -> list[tuple[datetime, datetime, str]]:
        """The stretches without a gap: from when, until when, why there was a gap before."""
        rows = self.web.ask("GET", "clusters/real/flight/")["known"]
        moment = datetime.fromisoformat
        return [(moment(row["began"]), moment(row["until"]), row["reason"]) for row in rows]

    def watched(self, seconds: float) -> Moments:
        """Return the pods at some moments of that time, in which a pod comes with each step."""
        moments: Moments = {}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.site.pods([f"pod-{self.made:03d}"])
            self.made += 1
            time.sleep(STEP)
            moments[datetime.now(UTC)] = set(self.site.listed())
        return moments

    def heard_beyond(self, moments: Moments) -> None:
        """Return once all of ``moments`` lie in the past of the recording."""
        last = max(moments)
        wait_until(lambda: self.list_stretches()[-1][1] > last, "the recording goes on", seconds=600)

    def judge(self, moments: Moments) -> set[datetime]:
        """Fails where a moment shows what was not so; returns those in a gap, which has to be told."""
        gaps = set()
        for moment, pods in moments.items():
            recorded_pods = self.pods_at(moment)
            if recorded_pods != pods:
                assert isinstance(recorded_pods, str), (moment, recorded_pods, pods)
                gaps.add(moment)
        return gaps

    def pods_at(self, moment: datetime) -> set[str] | str:
        """The pods as of then, or why that is not known."""
        answer = self.web.call_rest("GET", "clusters/real/pods/", params={"at": moment.isoformat(), "limit": 500})
        if answer.status_code == 404:
            return str(answer.json()["detail"])
        assert answer.status_code == 200, answer.text
        return {row["name"] for row in answer.json()["results"]}


@pytest.fixture
def recorded(assets: Path, tmp_path: Path) -> Iterator[Recorded]:
    with live_site(assets, tmp_path) as site, ExitStack() as ending:
        site.have_workers(1)
        site.nodes(3)
        yield Recorded(site, ending.enter_context(site.deployment.site()))


def test_a_database_that_is_away_for_a_minute_leaves_no_gap(recorded: Recorded) -> None:
    before = recorded.watched(10)
    recorded.site.postgres.kill()
    meanwhile = recorded.watched(AWAY)
    assert recorded.web.call_rest("GET", "clusters/real/flight/").status_code == 503
    recorded.site.postgres.start()
    moments = before | meanwhile | recorded.watched(10)
    recorded.heard_beyond(moments)
    gaps, (_, *later) = recorded.judge(moments), recorded.list_stretches()
    # On a busy machine a watch may break by itself.
    assert all("interrupted" in reason for _, _, reason in later)
    assert bool(gaps) <= bool(later)


def test_a_recorder_that_dies_without_its_database_leaves_a_gap_that_is_told(recorded: Recorded) -> None:
    before = recorded.watched(10)
    recorded.heard_beyond(before)
    recorded.site.postgres.kill()
    [worker] = recorded.site.workers
    meanwhile = recorded.watched(AWAY / 2)
    worker.kill()
    killed = datetime.now(UTC)
    recorded.site.replace_worker(worker)
    meanwhile |= recorded.watched(AWAY / 2)
    recorded.site.postgres.start()
    wait_until(lambda: recorded.list_stretches()[-1][1] > killed, "another process records", seconds=600)
    after = recorded.watched(10)
    recorded.heard_beyond(after)
    gaps = recorded.judge(before | meanwhile | after)
    assert {moment for moment in meanwhile if moment < killed} <= gaps
    assert after.keys() - gaps
