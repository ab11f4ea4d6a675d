"""`make run`, killed while pods wait for people: the one process with SQLite loses none of them either."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.support.backstage import Backstage
from tests.support.controlplane import ControlPlane
from tests.support.faultproxy import FaultProxy
from tests.support.history import AUDIT_POLICY
from tests.support.livesite import APPROVAL_LABELS, LEASE_SECONDS, Live
from tests.support.site import made_run

WAITING, PLAIN = 20, 300


@pytest.mark.nightly
def test_killed_with_twenty_approvals_waiting_it_loses_none(assets: Path, tmp_path: Path) -> None:
    settings = {
        "KSCHEDWEB_SECRET_KEY": secrets.token_urlsafe(48),
        "KSCHEDWEB_ENCRYPTION_KEYS": secrets.token_urlsafe(32),
        "KSCHEDWEB_CLUSTER_ALLOWLIST": "127.0.0.0/8",
        "KSCHEDWEB_SANDBOX": "false",
        "KSCHEDWEB_LEASE_SECONDS": str(LEASE_SECONDS),
    }
    with (
        ControlPlane(assets, tmp_path, audit=AUDIT_POLICY).started() as plane,
        FaultProxy(plane, tmp_path) as proxy,
        made_run(tmp_path, **settings) as run,
    ):
        site = Live(plane, proxy, Backstage(run.env, tmp_path / "backstage.log"))
        site.connect()
        site.start("embedded", nodes=12)
        site.pods([f"held-{number:02d}" for number in range(WAITING)], labels=APPROVAL_LABELS)
        nodes_by_uid = {row["uid"]: row["node"] for row in site.waiting(WAITING)}

        site.pods(f"plain-{number:03d}" for number in range(PLAIN))
        run.kill()
        # People go on deciding while nothing runs, as another process on the same database lets them.
        rows = site.waiting(WAITING)
        site.approve(rows[:5])
        run.start()
        assert {row["uid"]: row["node"] for row in site.requests()} == nodes_by_uid
        site.approve(rows[5:])
        site.wait_bound(WAITING + PLAIN, 90)
        site.check()
        assert {row["state"] for row in site.requests()} == {"bound"}
        site.backstage.close()
