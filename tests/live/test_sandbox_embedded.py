"""`make run` with its sandbox, killed: what lives in it is there again, and no approval is lost or done twice."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.processes import wait_until
from tests.support.sandbox import pod
from tests.support.site import PASSWORD, Site, made_run

Json = dict[str, Any]
PODS = 6


def waiting(site: Site) -> dict[str, Json]:
    """The requests about this test's pods that are open, by the pod's name."""
    found = site.ask("GET", "approvals/?state=waiting&limit=100")["results"]
    return {row["name"]: row for row in found if row["name"].startswith("kept-")}


def _runs(site: Site, name: str) -> bool:
    return "Running on" in details(site, name)["row"]["state"]


def _told_of_binding(site: Site, name: str) -> int:
    return [one["reason"] for one in details(site, name)["happenings"]].count("Scheduled")


def details(site: Site, name: str) -> Json:
    found: Json = site.ask("GET", f"sandbox/objects/Pod/payments/{name}/")
    return found


def test_killed_it_keeps_what_lives_and_binds_each_approved_pod_once(tmp_path: Path) -> None:
    with made_run(tmp_path, KSCHEDWEB_ADMIN_PASSWORD=PASSWORD) as run:
        site = run.site
        site.login("admin", PASSWORD)
        made = [pod(f"kept-{number}", "payments", "guarded") for number in range(PODS)]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
        assert len(site.ask("POST", "sandbox/objects/", {"text": text})["created"]) == PODS
        wait_until(lambda: len(waiting(site)) == PODS, 60, "all wait for approval")
        before = waiting(site)
        names = sorted(before)
        for name in names[:2]:
            site.ask("POST", f"approvals/{before[name]['id']}/approve/", {})
        run.kill()

        run.start()
        site.login("admin", PASSWORD)
        # Those that nobody decided wait as they did, on the node that was found for them.
        still = {name: (row["id"], row["node"]) for name, row in waiting(site).items() if name in names[2:]}
        assert still == {name: (before[name]["id"], before[name]["node"]) for name in names[2:]}
        for name in names[2:]:
            site.ask("POST", f"approvals/{before[name]['id']}/approve/", {})
        for name in names:
            wait_until(partial(_runs, site, name), 90, f"{name} runs")
            assert details(site, name)["row"]["state"] == f"Running on {before[name]['node']}"
        # An event is written after its pod was bound, so that a kill in between loses it; it is never written twice.
        wait_until(lambda: all(_told_of_binding(site, name) for name in names[2:]), 90, "all are told of")
        assert all(_told_of_binding(site, name) == 1 for name in names[2:])
        assert all(_told_of_binding(site, name) <= 1 for name in names[:2])
        assert not waiting(site)
