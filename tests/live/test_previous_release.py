"""An upgrade while the site works: processes of the previous release on a database that ours has migrated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.engine.json_types import Json
from tests.support import previous, seed
from tests.support.controlplane import ControlPlane
from tests.support.crowd import Approver, Editor, Log, Walker, Worker, at_work
from tests.support.databases import databases
from tests.support.history import AUDIT_POLICY
from tests.support.livesite import APPROVAL_LABELS, DOCUMENT, Deployment, Live, pid_of
from tests.support.people import Led
from tests.support.processes import free_port, wait_until
from tests.support.site import PASSWORD, Site

# Before a release: the full tier.
pytestmark = [pytest.mark.live, pytest.mark.nightly]

NAME = "upgraded"  # the live scheduler
WALKED, PODS = "walked", 100  # a cluster that people look at
CONFLICTS = (409, 412, 429)  # another one was first, or the person asked for more than their share


class Release:
    """One release's processes on the site, by the commands of its own docker-compose.yml."""

    def __init__(self, label: str, deployment: Deployment) -> None:
        self.port = free_port()
        self.manage, self.label = deployment.manage, label
        self.site = Site(f"http://127.0.0.1:{self.port}")
        self.servers = {
            name: deployment.service(name, label, self.port) for name in ("web", "worker", "scheduler", "beat")
        }

    def start(self, *services: str) -> None:
        for service in services:
            self.servers[service].start()
        if "web" in services:
            wait_until(lambda: self.site.answers("/readyz"), f"the {self.label} web process is ready", step=0.3)
            self.site.login("admin", PASSWORD)

    def stop(self, *services: str) -> None:
        for service in services:
            self.servers[service].stop(patience=20)

    def leads(self, live: str) -> bool:
        """Return whether its scheduler process leads, by that process's own word."""
        status = self.site.ask("GET", f"live/{live}/")["status"]
        leading = [candidate for candidate in status["candidates"] if candidate["leading"] and candidate["synced"]]
        return any(pid_of(candidate) == self.servers["scheduler"].pid for candidate in leading)


class Upgrade:
    """A site on a cluster, with the processes of both releases; none is started yet."""

    def __init__(self, plane: ControlPlane, deployment: Deployment, old_root: Path) -> None:
        self.plane, self.backstage = plane, deployment.backstage()
        self.new = Release("new", deployment)
        self.old = Release("old", deployment.at(old_root))
        self.live = ""
        self.pods = Live(plane, None, None)  # type: ignore[arg-type]
        self.pods.name = NAME

    def bound(self, *names: str) -> None:
        """Make pods, and wait until each is bound."""
        self.pods.pods(names)
        wait_until(lambda: set(names) <= set(self.pods.bound()), f"{names} are bound", step=0.2)

    def people(self) -> list[Worker]:
        """People who read, change policies and approve, each at whichever web process is there."""
        log, ports = Log(), (self.old.port, self.new.port)
        workers: list[Worker] = []
        for number, role in enumerate(("viewer", "viewer", "editor", "approver")):
            person = Led(ports, self.backstage("log_in", person=f"{role}-{number}", role=role))
            makes = {
                "viewer": Walker(person, log, number, [WALKED], PODS * 8 // 10),
                "editor": Editor(person, log, number),
                "approver": Approver(person, log, number),
            }
            workers.append(makes[role])
            workers[-1].think = (0.0, 0.2)
        return workers

    def close(self) -> None:
        self.backstage.close()
        for release in (self.old, self.new):
            release.stop(*release.servers)


@pytest.fixture(scope="module")
def upgrade(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgrade]:
    """A database with the newest migrations, and a cluster of two nodes."""
    folder = tmp_path_factory.mktemp("upgrade")
    folder.chmod(0o755)
    old_root = previous.checkout(folder / "previous")
    with ControlPlane(assets, folder, audit=AUDIT_POLICY).started() as plane, databases() as (postgres, broker):
        deployment = Deployment(folder, postgres.url, broker.url)
        plane.create_nodes([seed.node("one"), seed.node("two")])
        site_upgrade = Upgrade(plane, deployment, old_root)
        with contextlib.closing(site_upgrade):
            yield site_upgrade


# The tests tell one story, in this order.


def test_the_previous_release_goes_the_main_trip_on_the_migrated_database(upgrade: Upgrade) -> None:
    old, site = upgrade.old, upgrade.old.site
    for command in ("load_demo", "load_scenarios", "ensure_admin"):
        old.manage(command, KSCHEDWEB_ADMIN_PASSWORD=PASSWORD)
    old.start("web", "worker", "scheduler", "beat")
    pod = site.ask("GET", "clusters/demo/pods/?pending=true&limit=1")["results"][0]
    site.ask("GET", f"clusters/demo/pods/{pod['namespace']}/{pod['name']}/decision/?policy=default")

    how = {"source": "token", "server": upgrade.plane.url, "ca": upgrade.plane.ca}
    created = site.ask("POST", "clusters/", {"name": "real", **how, "token": upgrade.plane.tokens["admin"]})
    site.wait_for_job(created["job"]["id"])
    site.ask("POST", "policies/", {"name": "careful", "document": DOCUMENT})
    conflict = site.call_rest("POST", "policies/", {"name": "careful", "document": DOCUMENT})
    assert conflict.status_code == 409

    settings = {"cluster": "real", "scheduler_name": NAME, "policy": "careful", "mode": "scheduling"}
    upgrade.live = site.ask("POST", "live/", settings)["id"]
    wait_until(lambda: old.leads(upgrade.live), "the previous release leads", step=0.3)
    upgrade.bound("first", "second")

    upgrade.pods.pods(["held"], labels=APPROVAL_LABELS)
    wait_until(lambda: bool(waiting(site)), "a request waits", step=0.2)
    site.ask("POST", f"approvals/{waiting(site)[0]['id']}/approve/", {})
    wait_until(lambda: "held" in upgrade.pods.bound(), "the approved pod is bound", step=0.2)


def test_both_releases_share_rows_jobs_and_the_lead(upgrade: Upgrade) -> None:
    old, new = upgrade.old, upgrade.new
    upgrade.pods.pods(["asked-by-old"], labels=APPROVAL_LABELS)
    wait_until(lambda: bool(waiting(old.site)), "a request waits", step=0.2)
    new.start("web", "scheduler")
    # Jobs of the new web process go to the old worker, and the other way round.
    new.site.wait_for_job(new.site.ask("POST", "clusters/real/refresh/")["id"])
    old.stop("worker")
    new.start("worker")
    old.site.wait_for_job(old.site.ask("POST", "clusters/real/refresh/")["id"])
    revised = DOCUMENT.replace("10m", "20m")
    etag = new.site.call_rest("GET", "policies/careful/").headers["ETag"]
    new.site.ask("POST", "policies/careful/revisions/", {"document": revised}, headers={"If-Match": etag})
    assert old.site.ask("GET", "policies/careful/revisions/2/")["document"] == revised

    old.stop("scheduler")
    wait_until(lambda: new.leads(upgrade.live), "the new release leads", step=0.3)
    # What was asked before is still open, and is answered through a page of the previous release.
    assert [row["name"] for row in waiting(old.site)] == ["asked-by-old"]
    old.site.ask("POST", f"approvals/{waiting(old.site)[0]['id']}/approve/", {})
    wait_until(lambda: "asked-by-old" in upgrade.pods.bound(), "the approved pod is bound", step=0.2)
    upgrade.bound("third")


def test_people_click_on_while_web_processes_are_replaced(upgrade: Upgrade) -> None:
    old, new = upgrade.old, upgrade.new
    upgrade.backstage("generated", name=WALKED, nodes=10, pods=PODS)
    people = upgrade.people()
    log = people[0].log

    def go_on() -> None:
        """Everybody walks through all pages of theirs once more."""
        target_count = len(log.rows) + 20 * len(people)
        wait_until(lambda: len(log.rows) >= target_count, "people go on")

    with at_work(people, log):
        go_on()
        old.stop("web")
        go_on()
        old.start("web")
        new.stop("web")
        go_on()
    answers = {(row.kind, row.status, row.words) for row in log.rows}
    assert [answer for answer in answers if not 200 <= answer[1] < 300 and answer[1] not in CONFLICTS] == []
    assert {row.kind for row in log.rows if row.status < 300} >= {"overview", "decision", "policy saved", "inbox"}


def test_the_way_back_is_open(upgrade: Upgrade) -> None:
    old, new = upgrade.old, upgrade.new
    old.start("scheduler", "worker")
    new.stop("scheduler", "worker")
    wait_until(lambda: old.leads(upgrade.live), "the previous release leads again", step=0.3)
    upgrade.bound("fourth")
    old.site.wait_for_job(old.site.ask("POST", "clusters/real/refresh/")["id"])


def waiting(site: Site) -> list[Json]:
    rows: list[Json] = site.ask("GET", "approvals/?state=waiting")["results"]
    return rows
