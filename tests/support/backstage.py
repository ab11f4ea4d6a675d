"""Acts of people on a site's pages, done by its own services in a process with the site's settings.

``python -m tests.support.backstage`` reads one JSON object a line, ``{"call": name, "with": {…}}``, and answers each
with one line, ``{"answer": …}`` or ``{"error": text}``. ``Backstage`` is the other side of it.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kschedweb.engine.json_types import Json

ROOT = Path(__file__).resolve().parent.parent.parent


class Backstage:
    """A process that acts in a site whose environment is ``env``; safe to use from several threads."""

    def __init__(self, env: Mapping[str, str], log: Path, root: Path = ROOT) -> None:
        self._lock = threading.Lock()
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.backstage"],
                cwd=root,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def __call__(self, call: str, **arguments: Any) -> Any:
        """The answer of one of the functions below; ``RuntimeError`` with its words where it failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"call": call, "with": arguments}).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        answer = json.loads(line or b'{"error": "the process backstage is gone"}')
        if "error" in answer:
            raise RuntimeError(f"{call}: {answer['error']}")
        return answer["answer"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def connect(name: str, server: str, ca: str, token: str) -> str:
    """Connect a cluster, and have a person of each role; the cluster's name."""
    from kschedweb.accounts.models import User
    from kschedweb.clusters.services import cluster_connect

    for role in ("viewer", "editor", "approver", "admin"):
        if not User.objects.filter(username=role).exists():
            User.objects.create_user(username=role, role=role)
    cluster, _ = cluster_connect(user=None, name=name, source="token", server=server, ca=ca, token=token)
    return str(cluster.name)


def replace_token(cluster: str, token: str) -> None:
    """Put another token in place of the cluster's credentials."""
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.clusters.services import cluster_credentials_replace

    admin = User.objects.get(username="admin")
    cluster_credentials_replace(user=admin, cluster=Cluster.objects.get(name=cluster), token=token)


def live(cluster: str, scheduler: str, document: str, process: Any = None, **limits: Any) -> str:
    """A scheduling live scheduler under a policy of its own, started as ``process`` says; its id."""
    from kschedweb.clusters.models import Cluster
    from kschedweb.live.schedulers.services import live_create
    from kschedweb.policies.services import policy_create

    policy = policy_create(name=f"policy-{scheduler}", document=document, author=None, process=process)
    place = Cluster.objects.get(name=cluster)
    scheduler_row = live_create(
        user=None, cluster=place, scheduler_name=scheduler, policy=policy, mode="scheduling", **limits
    )
    return str(scheduler_row.pk)


def mode(live: str, mode: str) -> None:
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.schedulers.services import live_set_mode

    live_set_mode(user=None, live=LiveScheduler.objects.get(pk=live), mode=mode)


def change(live: str, **changes: Any) -> str:
    """Change settings; why that is refused, "" where it is not."""
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.schedulers.services import live_change
    from kschedweb.web.errors import ApplicationError

    try:
        live_change(user=None, live=LiveScheduler.objects.get(pk=live), **changes)
    except ApplicationError as error:
        return error.detail
    return ""


def save(live: str, document: str) -> int:
    """An editor saves a document as the next revision of the scheduler's policy; its number."""
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.selectors import live_get
    from kschedweb.policies.services import revision_save

    scheduler_row, editor = live_get(live), User.objects.get(username="editor")
    return revision_save(
        policy=scheduler_row.policy, document=document, author=editor, expected=scheduler_row.newest
    ).number


def roll_out(live: str, number: int) -> None:
    """An admin rolls a revision of the scheduler's policy out."""
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.selectors import live_get, revision_in_force
    from kschedweb.live.schedulers.services import live_roll_out

    scheduler_row, admin = live_get(live), User.objects.get(username="admin")
    revision = scheduler_row.policy.revisions.get(number=number)
    live_roll_out(user=admin, live=scheduler_row, revision=revision, expected=revision_in_force(scheduler_row))


def pause(live: str) -> None:
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.schedulers.services import live_pause

    live_pause(user=None, live=LiveScheduler.objects.get(pk=live))


def resume(live: str) -> None:
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.schedulers.services import live_resume

    live_resume(user=None, live=LiveScheduler.objects.get(pk=live))


def step(live: str, pods: int) -> None:
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.schedulers.services import live_step

    live_step(user=None, live=LiveScheduler.objects.get(pk=live), pods=pods)


def candidates(live: str) -> list[Json]:
    """List the last report of every process, the latest to start first."""
    from django.utils import timezone

    from kschedweb.live.schedulers.models import Candidate

    reported = ("bound", "rate", "depths", "latency", "error", "watches", "comparison")
    fields = ("identity", "leading", "synced", "epoch", *reported)
    rows = Candidate.objects.filter(scheduler__pk=live).select_related("revision").order_by("-started_at")
    now = timezone.now()
    return [
        {name: getattr(row, name) for name in fields}
        | {"silent": (now - row.heartbeat).total_seconds(), "revision": row.revision and row.revision.number}
        for row in rows
    ]


def decisions(live: str) -> list[Json]:
    """Every decision that is kept, oldest first, with the number of the revision that made it."""
    from django.db.models import F

    from kschedweb.live.schedulers.models import LiveDecision

    fields = ("uid", "namespace", "name", "result", "node", "message", "attempt", "epoch")
    rows = LiveDecision.objects.filter(scheduler__pk=live).order_by("at")
    return list(rows.values(*fields, number=F("revision__number")))


def requests(live: str) -> list[Json]:
    """Every request for approval, oldest first; ``granted`` (approved at) and ``asked`` in seconds of the epoch."""
    from kschedweb.live.approvals.models import ApprovalRequest

    return [
        {
            "id": str(row.pk),
            "uid": row.uid,
            "pod": row.pod,
            "node": row.node,
            "state": row.state,
            "reason": row.reason,
            "open": row.open,
            "again": row.asked_again,
            "asked": row.asked_at.timestamp(),
            "granted": row.decided_at.timestamp()
            if row.decided_at and not row.reason.startswith("denied by")
            else None,
        }
        for row in ApprovalRequest.objects.filter(scheduler__pk=live).order_by("asked_at")
    ]


def decide(ids: list[str], verdict: str, reason: str = "", person: str = "approver") -> list[str]:
    """One person's vote on each; what was wrong with those for which it did not count."""
    from kschedweb.accounts.models import User
    from kschedweb.live.approvals.services import requests_decide

    user = User.objects.get(username=person)
    outcomes = requests_decide(user=user, request_ids=ids, verdict=verdict, reason=reason)
    return [f"{outcome.pod}: {outcome.problem}" for outcome in outcomes if outcome.problem]


def log_in(person: str, role: str = "viewer") -> str:
    """The session of a person who is made where there is none."""
    from django.test import Client

    from kschedweb.accounts.models import User

    user, _ = User.objects.get_or_create(username=person, defaults={"role": role})
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return str(client.cookies["sessionid"].value)


def watched(scheduler: str) -> str:
    """A live scheduler that no process hosts; its id."""
    from kschedweb.accounts.models import User
    from tests.support import seed_live

    admin, _ = User.objects.get_or_create(username="admin", defaults={"role": "admin"})
    return str(seed_live.scheduler(admin, scheduler).pk)


def hold(live: str, pod: str) -> str:
    """A pod that waits for people; the request's id."""
    from kschedweb.live.schedulers.models import LiveScheduler
    from tests.support import seed_approvals

    return str(seed_approvals.request(LiveScheduler.objects.get(pk=live), pod).pk)


def record(live: str, pod: str) -> None:
    """A decision, as the process that hosts the scheduler writes it."""
    from kschedweb.live.schedulers.models import LiveScheduler
    from tests.support import seed_live

    seed_live.decision(LiveScheduler.objects.get(pk=live), pod)


def cluster(name: str, objects: list[Json]) -> None:
    """Import a cluster."""
    from kschedweb.accounts.models import User
    from tests.support import seed

    importer, _ = User.objects.get_or_create(username="importer", defaults={"role": "editor"})
    seed.imported(name, objects, importer)


def generated(name: str, nodes: int, pods: int) -> None:
    """Import a cluster with so many nodes and pods, a tenth of which are pending."""
    from tests.support import seed

    cluster(name, seed.cluster(nodes, pods))


def measured(name: str, nodes: list[str], hours: int) -> None:
    """Use of a cluster's nodes for so many hours."""
    from tests.support import seed

    seed.measured(name, nodes, hours)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: function
    for name, function in list(vars().items())
    if inspect.isfunction(function) and function.__module__ == __name__
}


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    django.setup()
    from django.db import close_old_connections, connection

    for line in sys.stdin:
        call = json.loads(line)
        close_old_connections()
        try:
            reply = {"answer": FUNCTIONS[call["call"]](**call["with"])}
        except Exception as error:
            traceback.print_exc()
            connection.close()
            reply = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply, default=str) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
