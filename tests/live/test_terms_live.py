"""leaderElection of policies on the real API server: names and durations, and what a roll-out of others does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.history import LeaseWrite
from tests.support.livesite import DOCUMENT, PODS, LiveSite, live_site
from tests.support.processes import wait_until

pytestmark = pytest.mark.live
BY_POLICY = {"KSCHEDWEB_LEASE_SECONDS": ""}  # the site says nothing, so that the policy's durations count
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
TIMES = {"leaseDuration": "7s", "renewDeadline": "4s", "retryPeriod": "1s"}


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    folder = tmp_path_factory.mktemp("terms")
    folder.chmod(0o755)
    with live_site(assets, folder) as site:
        for _ in range(2):
            site.start_worker(**BY_POLICY)
        yield site


def document(name: str) -> str:
    election = {"resourceName": name, **TIMES}
    return yaml.safe_dump({**yaml.safe_load(DOCUMENT), "leaderElection": election})


def spec(site: LiveSite, name: str) -> dict[str, Any]:
    lease_spec: dict[str, Any] = site.plane.call("GET", f"{LEASES}/{name}")["spec"]
    return lease_spec


def leading(site: LiveSite, live: str) -> list[dict[str, Any]]:
    return [
        candidate
        for candidate in site.backstage("candidates", live=live)
        if candidate["leading"] and candidate["silent"] < 5
    ]


def leader(site: LiveSite, live: str) -> str:
    """The identity of the one that leads, once one does."""
    wait_until(lambda: len(leading(site, live)) == 1, "one leads", step=0.2)
    return str(leading(site, live)[0]["identity"])


def test_two_schedulers_of_two_policies_with_one_lock_stand_by_for_each_other(site: LiveSite) -> None:
    site.begin("first", 2, document=document("shared"), nodes=2)
    lease = spec(site, "shared")
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == (leader(site, site.live), 7)

    pods = [site.pod("of-first")]
    first, site.name = site.live, "second"
    # Every process of the site hosts both.
    second = site.backstage("live", cluster="real", scheduler="second", document=document("shared"))
    site.plane.create_all(PODS, [*pods, site.pod("of-second")])
    wait_until(lambda: len(site.backstage("candidates", live=second)) == 2, "both processes stand by", step=0.2)
    wait_until(
        lambda: all(candidate["synced"] for candidate in site.backstage("candidates", live=second)),
        "they know",
        step=0.2,
    )
    wait_until(lambda: "of-first" in site.bound(), "who leads binds", step=0.2)
    renewed = spec(site, "shared")["renewTime"]
    wait_until(lambda: spec(site, "shared")["renewTime"] > renewed, "it leads on", step=0.2)
    assert leading(site, second) == []
    assert set(site.bound()) == {"of-first"}

    site.backstage("mode", live=first, mode="off")
    wait_until(lambda: "of-second" in site.bound(), "the other leads then", step=0.2)
    assert spec(site, "shared")["holderIdentity"] == leader(site, second)
    site.backstage("mode", live=second, mode="off")
    site.plane.wipe()


def test_a_roll_out_gives_the_old_lock_back_before_anybody_takes_the_new_one(site: LiveSite) -> None:
    site.begin("moving", 2, document=document("before"), nodes=3)
    site.pods(f"early-{number}" for number in range(20))
    site.wait_bound(20)
    assert site.backstage("save", live=site.live, document=document("after")) == 2
    site.backstage("roll_out", live=site.live, number=2)
    site.pods(f"late-{number}" for number in range(20))
    wait_until(lambda: (site.leader() or {}).get("revision") == 2, "somebody leads by revision 2", step=0.2)
    site.pods(f"last-{number}" for number in range(20))
    site.wait_bound(60)

    history = site.history()
    old, new = (writes_of(history.leases, name) for name in ("before", "after"))
    assert {write.seconds for write in (*old, *new) if write.holder} == {7}
    # The old one's last word is that nobody holds it, and the new one's first comes later.
    assert old[-1].holder == ""
    assert new[0].holder
    assert old[-1].completed <= new[0].received
    # One leader at a time: each binding was asked for while its writer held the lock of that time.
    for bind in history.binds:
        writes = new if bind.received >= new[0].received else old
        before = [write.holder for write in writes if write.received <= bind.received]
        assert before[-1] == bind.identity, bind
    assert {bind.pod.partition("/")[2].partition("-")[0] for bind in history.binds if bind.succeeded} == {
        "early",
        "late",
        "last",
    }
    assert max(write.epoch for write in old) < min(write.epoch for write in new)
    site.end()


def writes_of(writes: list[LeaseWrite], name: str) -> list[LeaseWrite]:
    return [write for write in writes if write.lease == f"kube-system/{name}"]
