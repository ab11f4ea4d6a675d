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
from kschedweb.clusters.models import AllowedAddress, Cluster, ClusterSource
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
CLOSED_PORT = "redis://127.0.0.1:9/0"
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


def run_doctor(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit status, and the findings but those about what the tests themselves run on."""
    out, status = StringIO(), 0
    try:
        call_command("doctor", "--json", *arguments, stdout=out)
    except SystemExit as end:
        status = int(str(end.code))
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def find_amiss(subject: str) -> list[tuple[str, str]]:
    rows = [row for row in run_doctor()[1] if row["about"] == subject and row["level"] != "ok"]
    assert all(row["advice"] for row in rows)
    return [(row["level"], row["what"]) for row in rows]


def test_everything_is_asked_and_nothing_found() -> None:
    findings = run_doctor()[1]
    rows = ("keys", "allowlists", "beat", "jobs", "schedulers")
    assert {row["about"] for row in findings} >= {"settings", "database", *rows}
    for subject in rows:
        assert find_amiss(subject) == []


def test_warnings_count_only_where_they_are_to(monkeypatch: pytest.MonkeyPatch) -> None:
    only = doctor.Examination("this", lambda: [doctor.warning("It is odd.", "Look at it.")])
    monkeypatch.setattr(doctor, "EXAMINATIONS", [only])
    assert run_doctor()[0] == 0
    assert run_doctor("--strict")[0] == 1
    out = StringIO()
    call_command("doctor", stdout=out)
    assert out.getvalue() == "warn this: It is odd.\n     Look at it.\n"


def test_examination_that_fails_is_a_finding_without_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> list[doctor.DoctorFinding]:
        raise RuntimeError("cannot ask redis://user:hunter2@host/0\nmore")

    after = doctor.Examination("after", lambda: [doctor.ok("well")])
    monkeypatch.setattr(doctor, "EXAMINATIONS", [doctor.Examination("this", fails), after])
    status, rows = run_doctor()
    assert status == 1
    assert [row["about"] for row in rows] == ["this", "after"]
    assert "could not be examined: cannot ask" in rows[0]["what"]
    assert "hunter2" not in rows[0]["what"]
    assert "more" not in rows[0]["what"]


@pytest.mark.parametrize(
    ("name", "value", "level", "phrase"),
    [
        ("DEBUG", True, "failure", "KSCHEDWEB_DEBUG is on"),
        ("SECRET_KEY", "short", "failure", "KSCHEDWEB_SECRET_KEY has fewer"),
        ("SECRET_KEY", "ab" * 30, "failure", "KSCHEDWEB_SECRET_KEY has fewer"),
        ("ALLOWED_HOSTS", ["*"], "warning", "allows any host"),
        ("ALLOWED_HOSTS", ["kschedweb.example.com"], "warning", "KSCHEDWEB_HTTPS is off"),
    ],
)
def test_settings(settings: Settings, name: str, value: object, level: str, phrase: str) -> None:
    setattr(settings, name, value)
    assert any(level_found == level and phrase in sentence for level_found, sentence in find_amiss("settings"))


def connect_cluster(name: str = "far", server: str = "https://192.0.2.7:6443") -> Cluster:
    cluster = Cluster.objects.create(name=name, source=ClusterSource.TOKEN, server=server)
    credential_save(cluster=cluster, secret=Secret(server=server, token="a-token"))
    return cluster


def test_keys_that_are_missing_weak_shared_or_changed(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = []
    assert find_amiss("keys") == [("warning", "KSCHEDWEB_ENCRYPTION_KEYS is not set: no cluster can be connected.")]
    settings.ENCRYPTION_KEYS = [GOOD]
    connect_cluster()
    assert find_amiss("keys") == []
    settings.ENCRYPTION_KEYS = ["a" * 40, GOOD]
    assert find_amiss("keys") == [
        ("failure", "KSCHEDWEB_ENCRYPTION_KEYS holds a key of few different characters."),
        ("warning", "1 credentials are stored under an older key."),
    ]
    settings.ENCRYPTION_KEYS = [GOOD, KEY]
    ((level, sentence),) = find_amiss("keys")
    assert (level, "holds the KSCHEDWEB_SECRET_KEY" in sentence) == ("failure", True)
    settings.ENCRYPTION_KEYS = [GOOD[::-1]]
    assert find_amiss("keys") == [("failure", "No key opens the credentials of far.")]
    settings.ENCRYPTION_KEYS = []
    ((level, sentence),) = find_amiss("keys")
    assert (level, "is not set: stored credentials" in sentence) == ("failure", True)


def test_allowlists_that_are_too_wide_or_too_narrow(settings: Settings) -> None:
    connect_cluster()
    settings.CLUSTER_ALLOWLIST = ["10.0.0.0/8"]
    ((level, sentence),) = find_amiss("allowlists")
    assert level == "failure"
    assert sentence.startswith("Cluster far: 192.0.2.7 is not among the addresses")
    for wide in ("0.0.0.0/0", "*"):
        settings.CLUSTER_ALLOWLIST, settings.EXTENDER_ALLOWLIST = ["192.0.2.0/24", wide], [wide]
        settings.REPOSITORY_ALLOWLIST = [wide]
        assert [sentence.partition(" ")[0] for _, sentence in find_amiss("allowlists")] == [
            "KSCHEDWEB_CLUSTER_ALLOWLIST",
            "KSCHEDWEB_EXTENDER_ALLOWLIST",
            "KSCHEDWEB_REPOSITORY_ALLOWLIST",
        ]
    settings.CLUSTER_ALLOWLIST, settings.EXTENDER_ALLOWLIST = ["192.0.2.0/24"], []
    settings.REPOSITORY_ALLOWLIST = []
    for insecure in ("CLUSTER_ALLOW_INSECURE", "EXTENDER_ALLOW_INSECURE", "REPOSITORY_ALLOW_INSECURE"):
        setattr(settings, insecure, True)
        assert [level for level, _ in find_amiss("allowlists")] == ["warning"]
        setattr(settings, insecure, False)
    AllowedAddress.objects.create(entry="10.1.2.3")
    ((level, sentence),) = find_amiss("allowlists")
    assert (level, "KSCHEDWEB_CLUSTER_ALLOWLIST_EDITABLE is off" in sentence) == ("warning", True)
    settings.CLUSTER_ALLOWLIST_EDITABLE = True
    Cluster.objects.create(name="inside", source=ClusterSource.IN_CLUSTER)
    ((_, sentence),) = find_amiss("allowlists")
    assert sentence == "Cluster inside is connected from inside, and this process has no service account."


def test_repositories_without_a_git_that_can_read_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.REPOSITORY_ALLOWLIST = ["192.0.2.0/24"]
    row = Repository.objects.create(name="platform", url="https://192.0.2.9/policies")
    assert find_amiss("repositories") == []
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    for path, sentence in ((tmp_path, "git 2.30 is too old"), (tmp_path / "none", "The program git is not installed")):
        monkeypatch.setenv("PATH", str(path))
        assert find_amiss("repositories") == [("failure", f"{sentence}: policies from git are not read.")]
    monkeypatch.undo()
    settings.REPOSITORY_ALLOWLIST = []
    ((level, sentence_found),) = find_amiss("repositories")
    assert (level, sentence_found.partition(" ")[0], "KSCHEDWEB_REPOSITORY_ALLOWLIST" in sentence_found) == (
        "failure",
        "Repository",
        True,
    )
    folder = {"url": "/srv/policies", "status_url": "https://192.0.2.9/repos/platform/policies"}
    settings.REPOSITORY_FOLDERS = ["/srv"]
    Repository.objects.filter(pk=row.pk).update(**folder)
    ((level, sentence_found),) = find_amiss("repositories")
    assert (level, sentence_found.partition(":")[0]) == ("failure", "Statuses of repository platform")
    Repository.objects.filter(pk=row.pk).update(active=False)
    assert find_amiss("repositories") == []


def test_beat_that_fell_silent_or_never_was() -> None:
    Pulse.objects.update(at=timezone.now() - timedelta(minutes=10))
    ((level, sentence),) = find_amiss("beat")
    assert level == "failure"
    assert "was last heard of 60" in sentence
    Pulse.objects.all().delete()
    ((_, sentence),) = find_amiss("beat")
    assert sentence.endswith("has given no sign of life yet.")
    beat_heard()
    assert find_amiss("beat") == []


def test_jobs_that_lie_undelivered() -> None:
    job = Job.objects.create(kind="clusters.refresh", title="Read", undelivered=True)
    assert find_amiss("jobs") == []
    Job.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(hours=1))
    assert find_amiss("jobs") == [("failure", "1 jobs have lain undelivered for more than 10 minutes.")]


def test_live_scheduler_that_nobody_hosts_or_leads(admin: User, settings: Settings) -> None:
    live = seed_live.scheduler(admin)
    assert find_amiss("schedulers") == [("failure", "No process hosts kschedweb in watched: its pods wait.")]
    seed_live.hosted(live)
    assert find_amiss("schedulers") == []
    rows = Candidate.objects.filter(scheduler=live)
    rows.filter(leading=True).update(ticked_at=timezone.now() - timedelta(seconds=40))
    ((_, sentence),) = find_amiss("schedulers")
    assert "leads kschedweb in watched and has not gone round for 4" in sentence or "for 3" in sentence
    rows.filter(leading=True).update(ticked_at=timezone.now(), error="The API server answered 403.")
    assert find_amiss("schedulers") == [("warning", "kschedweb in watched: The API server answered 403.")]
    rows.update(leading=True, ticked_at=timezone.now(), error="")
    ((_, sentence),) = find_amiss("schedulers")
    assert sentence.startswith("Two processes say that they lead kschedweb in watched: ")
    rows.update(leading=False)
    ((_, sentence),) = find_amiss("schedulers")
    assert sentence.startswith("Nobody leads kschedweb in watched")
    rows.update(error="The lock cannot be read.")
    assert find_amiss("schedulers") == [("failure", "Nobody leads kschedweb in watched: The lock cannot be read.")]
    rows.update(heartbeat=timezone.now() - timedelta(minutes=5))
    assert [sentence for _, sentence in find_amiss("schedulers")] == [
        "No process hosts kschedweb in watched: its pods wait."
    ]
    rows.filter(identity="host-1_4711").update(
        heartbeat=timezone.now(), ticked_at=timezone.now(), leading=True, error=""
    )
    settings.REDIS_URL = CLOSED_PORT
    assert find_amiss("schedulers") == [
        ("warning", "One process takes part in kschedweb in watched: nobody stands by.")
    ]


def test_database_of_a_later_release_and_one_without_a_release_s_tables() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("jobs", "9999_later")
    ((level, sentence),) = find_amiss("database")
    assert (level, "does not know jobs.9999_later" in sentence) == ("warning", True)
    recorder.record_unapplied("jobs", "9999_later")
    recorder.migration_qs.filter(app="repositories").delete()
    assert find_amiss("database") == [("failure", "1 migrations are missing, from repositories.0001_release_0_1_0 on.")]
    assert {row["about"] for row in run_doctor()[1]} <= {"settings", "database", "redis"}, (
        "what needs tables is left out"
    )


def test_disk_with_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=300 << 20))
    assert [finding.message for finding in doctor._examine_sqlite()] == [
        "The disk of the data folder has 300 MiB left."
    ]


@pytest.mark.postgresql
def test_user_of_the_database_with_few_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER ROLE CURRENT_USER CONNECTION LIMIT 3")
    ((level, sentence),) = find_amiss("database")
    assert (level, sentence.partition(",")[0]) == ("failure", "The database's user may have 3 connections")


def test_worker_of_another_version(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = CLOSED_PORT
    vitals = {"queues": ["celery", "scheduler"], "time": time.time(), "version": "0.0.1"}
    monkeypatch.setattr(
        doctor_checks, "collect_vitals", lambda: {"one": vitals, "two": vitals | {"version": __version__}}
    )
    ((level, sentence),) = find_amiss("workers")
    assert (level, sentence.partition(",")[0]) == ("warning", "one is of version 0.0.1")


def test_a_provider_that_does_not_answer_and_rules_that_let_nobody_in_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with issuing() as issuer:
        identity_tokens.forget_published()
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider()}
        assert find_amiss("sign-in") == []
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider(rules=RoleRules())}
        assert [level for level, _ in find_amiss("sign-in")] == ["failure"]
        settings.ALLOWED_HOSTS = ["kschedweb.example.org"]
        assert len(find_amiss("sign-in")) == 2
        settings.IDENTITY_PROVIDERS = {"company": issuer.provider()}
        document = identity_tokens.document_of(issuer.provider()) | {"code_challenge_methods_supported": ["plain"]}
        monkeypatch.setattr(sign_in, "document_of", lambda _: document)
        assert find_amiss("sign-in")[0] == ("warning", "The identity provider company does not offer PKCE with S256.")
        monkeypatch.undo()
    identity_tokens.forget_published()
    ((level, sentence),) = [row for row in find_amiss("sign-in") if "does not answer" in row[1]]
    assert (level, "company" in sentence) == ("failure", True)


def test_the_header_is_told_with_the_addresses_that_it_counts_from(settings: Settings) -> None:
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.4.0.11"),), RoleRules())
    sentences = [row["what"] for row in run_doctor()[1] if row["about"] == "sign-in"]
    assert "X-Remote-User counts from 10.4.0.11/32, and is ignored from every other address" in sentences
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.0.0.0/8"),), RoleRules())
    assert [level for level, _ in find_amiss("sign-in")] == ["warning"]


def test_who_could_log_in_nowhere_is_told(settings: Settings, admin: User) -> None:
    settings.LOCAL_ACCOUNTS, settings.BREAK_GLASS = False, "admin"
    settings.REMOTE_HEADER = ProxyHeader("X-Remote-User", "", (ip_network("10.4.0.11"),), RoleRules())
    assert find_amiss("sign-in") == []
    settings.REMOTE_HEADER = None
    assert len(find_amiss("sign-in")) == 1
    settings.BREAK_GLASS = "nobody"
    assert [level for level, _ in find_amiss("sign-in")] == ["failure", "failure"]
