"""manage.py doctor: each fault that rows and settings can show, provoked; processes: tests/live/test_scaled_out.py."""

from __future__ import annotations

import json
import shutil
import time
from datetime import timedelta
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from kschedweb import __version__
from kschedweb.accounts import doctor_checks as sign_in
from kschedweb.accounts.signin import identity_tokens
from kschedweb.accounts.signin.configuration import ProxyHeader
from kschedweb.accounts.signin.rules import RoleRules
from kschedweb.clusters.connecting.credentials import Secret, credential_save
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.jobs import doctor_checks
from kschedweb.jobs.models import Job, Pulse
from kschedweb.jobs.retention import beat_heard
from kschedweb.live.schedulers.models import Candidate
from kschedweb.policies.repositories.models import Repository
from kschedweb.web import doctor
from tests.support import seed_live
from tests.support.issuer import issuing

if TYPE_CHECKING:
    from pytest_django import Settings

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
CLOSED = "redis://127.0.0.1:9/0"
GOOD = "q8Zr3TnV0yLk5WbXc7DfGh2JmPsUa9Ee"
KEY = "fJ4kQ9zXw2LrT7vBn0MhYc5GdPs8UaEi3oKxZqRt6WbVyN1C"


@pytest.fixture(autouse=True)
def sound(settings: Settings) -> None:
    settings.SECRET_KEY, settings.ENCRYPTION_KEYS = KEY, [GOOD]
    settings.CLUSTER_ALLOWLIST, settings.EXTENDER_ALLOWLIST = ["192.0.2.0/24"], []
    settings.CLUSTER_ALLOW_INSECURE = settings.EXTENDER_ALLOW_INSECURE = False
    settings.REPOSITORY_ALLOWLIST, settings.REPOSITORY_ALLOW_INSECURE = [], False
    settings.HTTPS, settings.DEBUG, settings.ALLOWED_HOSTS = False, False, ["localhost"]
    beat_heard()


def asked(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit status, and the findings but those about what the tests themselves run on."""
    out, status = StringIO(), 0
    try:
        call_command("doctor", "--json", *arguments, stdout=out)
    except SystemExit as end:
        status = int(str(end.code))
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def amiss(about: str) -> list[tuple[str, str]]:
    found = [row for row in asked()[1] if row["about"] == about and row["level"] != "ok"]
    assert all(row["advice"] for row in found)
    return [(row["level"], row["what"]) for row in found]


def test_everything_is_asked_and_nothing_found() -> None:
    found = asked()[1]
    rows = ("keys", "allowlists", "beat", "jobs", "schedulers")
    assert {row["about"] for row in found} >= {"settings", "database", *rows}
    for about in rows:
        assert amiss(about) == []


def test_warnings_count_only_where_they_are_to(monkeypatch: pytest.MonkeyPatch) -> None:
    only = doctor.Examination("this", lambda: [doctor.warning("It is odd.", "Look at it.")])
    monkeypatch.setattr(doctor, "EXAMINATIONS", [only])
    assert asked()[0] == 0
    assert asked("--strict")[0] == 1
    out = StringIO()
    call_command("doctor", stdout=out)
    assert out.getvalue() == "warn this: It is odd.\n     Look at it.\n"


def test_examination_that_fails_is_a_finding_without_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> list[doctor.DoctorFinding]:
        raise RuntimeError("cannot ask redis://user:hunter2@host/0\nmore")

    after = doctor.Examination("after", lambda: [doctor.ok("well")])
    monkeypatch.setattr(doctor, "EXAMINATIONS", [doctor.Examination("this", fails), after])
    status, found = asked()
    assert status == 1
    assert [row["about"] for row in found] == ["this", "after"]
    assert "could not be examined: cannot ask" in found[0]["what"]
    assert "hunter2" not in found[0]["what"]
    assert "more" not in found[0]["what"]


@pytest.mark.parametrize(
    ("name", "value", "level", "what"),
    [
        ("DEBUG", True, "failure", "KSCHEDWEB_DEBUG is on"),
        ("SECRET_KEY", "short", "failure", "KSCHEDWEB_SECRET_KEY has fewer"),
        ("SECRET_KEY", "ab" * 30, "failure", "KSCHEDWEB_SECRET_KEY has fewer"),
        ("ALLOWED_HOSTS", ["*"], "warning", "allows any host"),
        ("ALLOWED_HOSTS", ["kschedweb.example.com"], "warning", "KSCHEDWEB_HTTPS is off"),
    ],
)
def test_settings(settings: Settings, name: str, value: object, level: str, what: str) -> None:
    setattr(settings, name, value)
    assert any(found == level and what in said for found, said in amiss("settings"))


def connected(name: str = "far", server: str = "https://192.0.2.7:6443") -> Cluster:
    cluster = Cluster.objects.create(name=name, source=ClusterSource.TOKEN, server=server)
    credential_save(cluster=cluster, secret=Secret(server=server, token="a-token"))
    return cluster


def test_keys_that_are_missing_weak_shared_or_changed(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = []
    assert amiss("keys") == [("warning", "KSCHEDWEB_ENCRYPTION_KEYS is not set: no cluster can be connected.")]
    settings.ENCRYPTION_KEYS = [GOOD]
    connected()
    assert amiss("keys") == []
    settings.ENCRYPTION_KEYS = ["a" * 40, GOOD]
    assert amiss("keys") == [
        ("failure", "KSCHEDWEB_ENCRYPTION_KEYS holds a key of few different characters."),
        ("warning", "1 credentials are stored under an older key."),
    ]
    settings.ENCRYPTION_KEYS = [GOOD, KEY]
    ((level, what),) = amiss("keys")
    assert (level, "holds the KSCHEDWEB_SECRET_KEY" in what) == ("failure", True)
    settings.ENCRYPTION_KEYS = [GOOD[::-1]]
    assert amiss("keys") == [("failure", "No key opens the credentials of far.")]
    settings.ENCRYPTION_KEYS = []
    ((level, what),) = amiss("keys")
    assert (level, "is not set: stored credentials" in what) == ("failure", True)


def test_allowlists_that_are_too_wide_or_too_narrow(settings: Settings) -> None:
    connected()
    settings.CLUSTER_ALLOWLIST = ["10.0.0.0/8"]
    ((level, what),) = amiss("allowlists")
    assert level == "failure"
    assert what.startswith("Cluster far: 192.0.2.7 is not among the addresses")
    for wide in ("0.0.0.0/0", "*"):
        settings.CLUSTER_ALLOWLIST, settings.EXTENDER_ALLOWLIST = ["192.0.2.0/24", wide], [wide]
        settings.REPOSITORY_ALLOWLIST = [wide]
        assert [what.partition(" ")[0] for _, what in amiss("allowlists")] == [
            "KSCHEDWEB_CLUSTER_ALLOWLIST",
            "KSCHEDWEB_EXTENDER_ALLOWLIST",
            "KSCHEDWEB_REPOSITORY_ALLOWLIST",
        ]
    settings.CLUSTER_ALLOWLIST, settings.EXTENDER_ALLOWLIST = ["192.0.2.0/24"], []
    settings.REPOSITORY_ALLOWLIST = []
    for insecure in ("CLUSTER_ALLOW_INSECURE", "EXTENDER_ALLOW_INSECURE", "REPOSITORY_ALLOW_INSECURE"):
        setattr(settings, insecure, True)
        assert [level for level, _ in amiss("allowlists")] == ["warning"]
        setattr(settings, insecure, False)
    Cluster.objects.create(name="inside", source=ClusterSource.IN_CLUSTER)
    ((_, what),) = amiss("allowlists")
    assert what == "Cluster inside is connected from inside, and this process has no service account."


def test_repositories_without_a_git_that_can_read_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.REPOSITORY_ALLOWLIST = ["192.0.2.0/24"]
    row = Repository.objects.create(name="platform", url="https://192.0.2.9/policies")
    assert amiss("repositories") == []
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    for path, said in ((tmp_path, "git 2.30 is too old"), (tmp_path / "none", "The program git is not installed")):
        monkeypatch.setenv("PATH", str(path))
        assert amiss("repositories") == [("failure", f"{said}: policies from git are not read.")]
    monkeypatch.undo()
    settings.REPOSITORY_ALLOWLIST = []
    ((level, what),) = amiss("repositories")
    assert (level, what.partition(" ")[0], "KSCHEDWEB_REPOSITORY_ALLOWLIST" in what) == ("failure", "Repository", True)
    folder = {"url": "/srv/policies", "status_url": "https://192.0.2.9/repos/platform/policies"}
    settings.REPOSITORY_FOLDERS = ["/srv"]
    Repository.objects.filter(pk=row.pk).update(**folder)
    ((level, what),) = amiss("repositories")
    assert (level, what.partition(":")[0]) == ("failure", "Statuses of repository platform")
    Repository.objects.filter(pk=row.pk).update(active=False)
    assert amiss("repositories") == []


def test_beat_that_fell_silent_or_never_was() -> None:
    Pulse.objects.update(at=timezone.now() - timedelta(minutes=10))
    ((level, what),) = amiss("beat")
    assert level == "failure"
    assert "was last heard of 60" in what
    Pulse.objects.all().delete()
    ((_, what),) = amiss("beat")
    assert what.endswith("has given no sign of life yet.")
    beat_heard()
    assert amiss("beat") == []


def test_jobs_that_lie_undelivered() -> None:
    job = Job.objects.create(kind="clusters.refresh", title="Read", undelivered=True)
    assert amiss("jobs") == []
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(hours=1))
    assert amiss("jobs") == [("failure", "1 jobs have lain undelivered for more than 10 minutes.")]


def test_live_scheduler_that_nobody_hosts_or_leads(admin: User, settings: Settings) -> None:
    live = seed_live.scheduler(admin)
    assert amiss("schedulers") == [("failure", "No process hosts kschedweb in watched: its pods wait.")]
    seed_live.hosted(live)
    assert amiss("schedulers") == []
    rows = Candidate.objects.filter(scheduler=live)
    rows.filter(leading=True).update(ticked_at=timezone.now() - timedelta(seconds=40))
    ((_, what),) = amiss("schedulers")
    assert "leads kschedweb in watched and has not gone round for 4" in what or "for 3" in what
    rows.filter(leading=True).update(ticked_at=timezone.now(), error="The API server answered 403.")
    assert amiss("schedulers") == [("warning", "kschedweb in watched: The API server answered 403.")]
    rows.update(leading=True, ticked_at=timezone.now(), error="")
    ((_, what),) = amiss("schedulers")
    assert what.startswith("Two processes say that they lead kschedweb in watched: ")
    rows.update(leading=False)
    ((_, what),) = amiss("schedulers")
    assert what.startswith("Nobody leads kschedweb in watched")
    rows.update(error="The lock cannot be read.")
    assert amiss("schedulers") == [("failure", "Nobody leads kschedweb in watched: The lock cannot be read.")]
    rows.update(heartbeat=timezone.now() - timedelta(minutes=5))
    assert [what for _, what in amiss("schedulers")] == ["No process hosts kschedweb in watched: its pods wait."]
    rows.filter(identity="host-1_4711").update(
        heartbeat=timezone.now(), ticked_at=timezone.now(), leading=True, error=""
    )
    settings.REDIS_URL = CLOSED
    assert amiss("schedulers") == [("warning", "One process takes part in kschedweb in watched: nobody stands by.")]


def test_database_of_a_later_release_and_one_without_a_release_s_tables() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("jobs", "9999_later")
    ((level, what),) = amiss("database")
    assert (level, "does not know jobs.9999_later" in what) == ("warning", True)
    recorder.record_unapplied("jobs", "9999_later")
    recorder.migration_qs.filter(app="repositories").delete()
    assert amiss("database") == [("failure", "1 migrations are missing, from repositories.0001_release_0_1_0 on.")]
    assert {row["about"] for row in asked()[1]} <= {"settings", "database", "redis"}, "what needs tables is left out"


def test_disk_with_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=300 << 20))
    assert [found.message for found in doctor._examine_sqlite()] == ["The disk of the data folder has 300 MiB left."]


@pytest.mark.postgresql
def test_user_of_the_database_with_few_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER ROLE CURRENT_USER CONNECTION LIMIT 3")
    ((level, what),) = amiss("database")
    assert (level, what.partition(",")[0]) == ("failure", "The database's user may have 3 connections")


def test_worker_of_another_version(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = CLOSED
    said = {"queues": ["celery", "scheduler"], "time": time.time(), "version": "0.0.1"}
    monkeypatch.setattr(doctor_checks, "collect_vitals", lambda: {"one": said, "two": said | {"version": __version__}})
    ((level, what),) = amiss("workers")
    assert (level, what.partition(",")[0]) == ("warning", "one is of version 0.0.1")


def test_a_provider_that_does_not_answer_and_rules_that_let_nobody_in_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with issuing() as issuer:
        identity_tokens.forget_published()
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider()}
        assert amiss("sign-in") == []
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider(rules=RoleRules())}
        assert [level for level, _ in amiss("sign-in")] == ["failure"]
        settings.ALLOWED_HOSTS = ["kschedweb.example.org"]
        assert len(amiss("sign-in")) == 2
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider()}
        document = identity_tokens.document_of(issuer.provider()) | {"code_challenge_methods_supported": ["plain"]}
        monkeypatch.setattr(sign_in, "document_of", lambda _: document)
        assert amiss("sign-in")[0] == ("warning", "The identity provider company does not offer PKCE with S256.")
        monkeypatch.undo()
    identity_tokens.forget_published()
    ((level, what),) = [found for found in amiss("sign-in") if "does not answer" in found[1]]
    assert (level, "company" in what) == ("failure", True)


def test_the_header_is_told_with_the_addresses_that_it_counts_from(settings: Settings) -> None:
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.4.0.11"),), RoleRules())
    told = [row["what"] for row in asked()[1] if row["about"] == "sign-in"]
    assert "X-Remote-User counts from 10.4.0.11/32, and is ignored from every other address" in told
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.0.0.0/8"),), RoleRules())
    assert [level for level, _ in amiss("sign-in")] == ["warning"]


def test_who_could_log_in_nowhere_is_told(settings: Settings, admin: User) -> None:
    settings.LOCAL_ACCOUNTS, settings.BREAK_GLASS = False, "admin"
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.4.0.11"),), RoleRules())
    assert amiss("sign-in") == []
    settings.REMOTE_HEADER = None
    assert len(amiss("sign-in")) == 1
    settings.BREAK_GLASS = "nobody"
    assert [level for level, _ in amiss("sign-in")] == ["failure", "failure"]
