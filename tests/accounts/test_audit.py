from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kschedweb.accounts import audit, services
from kschedweb.accounts.models import AuditEntry
from kschedweb.accounts.roles import Action
from kschedweb.web.exports import csv_cell
from tests.conftest import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture
def trail(admin, editor):
    audit.record(editor, "policy.saved", editor, "=cmd|' /C calc'!A0", number=3)
    audit.record(admin, "cluster.connected", admin, "production", server="https://k8s.example")
    audit.record(None, "cluster.refreshed", admin, "production")


def names(page) -> list[str]:
    return [entry.verb for entry in page.context["page"].rows]


def test_the_page_filters_by_who_what_and_which(client_as, trail):
    client = client_as("admin")
    AuditEntry.objects.filter(verb="login.succeeded").delete()
    assert names(client.get(reverse("audit"))) == ["cluster.refreshed", "cluster.connected", "policy.saved"]
    assert names(client.get(reverse("audit"), {"actor": "Editor"})) == ["policy.saved"]
    assert names(client.get(reverse("audit"), {"verb": "cluster."})) == ["cluster.refreshed", "cluster.connected"]
    assert names(client.get(reverse("audit"), {"search": "calc"})) == ["policy.saved"]
    assert names(client.get(reverse("audit"), {"until": "2000-01-01"})) == []


def test_the_page_says_the_kind_of_an_object_in_words_which_its_filter_takes(client_as):
    AuditEntry.objects.create(actor_name="a", verb="live.started", object_type="livescheduler", object_name="x")
    page = client_as("admin").get(reverse("audit"), {"object_type": "Live scheduler"})
    assert names(page) == ["live.started"]
    assert "live scheduler <strong>x</strong>" in page.content.decode()


def test_the_rest_resource_takes_the_same_filters(api_as, trail):
    entries = api_as("admin").get("/api/v1/audit/", {"object_name": "production"}).json()["results"]
    assert [(entry["actor_name"], entry["verb"]) for entry in entries] == [
        ("system", "cluster.refreshed"),
        ("admin", "cluster.connected"),
    ]


def test_the_csv_holds_the_filtered_rows_and_no_formula(client_as, trail):
    answer = client_as("admin").get(reverse("audit"), {"format": "csv", "actor": "editor"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row[0] for row in rows[:1]] == ["time"]
    assert len(rows) == 2
    assert rows[1][5] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_a_spreadsheet_would_run_is_made_text(text):
    assert csv_cell(text) == f"'{text}"


def test_numbers_stay_numbers():
    assert [csv_cell(value) for value in (-5, 1.5, None, "node-1")] == [-5, 1.5, "", "node-1"]


def test_what_looks_like_a_secret_never_reaches_the_trail(admin):
    audit.record(admin, "x", admin, "x", kubeconfig="apiVersion: v1", note="Bearer abc.def", count=2)
    assert AuditEntry.objects.get(verb="x").details == {
        "kubeconfig": "[redacted]",
        "note": "Bearer [redacted]",
        "count": 2,
    }


ADDRESS = "192.0.2.7"


def of_kind(kind: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(verb__startswith=f"{kind}.").order_by("id"))


def log_in(password: str, username: str = "viewer") -> Client:
    client = Client(REMOTE_ADDR=ADDRESS)
    client.post(reverse("login"), {"username": username, "password": password})
    return client


def test_logins_failures_lockouts_and_logouts_are_in_it_with_the_address(viewer):
    log_in("viewer-password").post(reverse("logout"))
    for _ in range(7):
        log_in("wrong-Passw0rd")
    entries = of_kind("login")
    assert [entry.verb for entry in entries] == [
        "login.succeeded", "login.ended", *["login.failed"] * 5, "login.locked",
    ]  # fmt: skip
    assert {entry.address for entry in entries} == {ADDRESS}
    assert [entry.actor_name for entry in entries] == ["viewer"] * 2 + ["stranger"] * 6
    assert {entry.object_name for entry in entries} == {"viewer"}
    assert "wrong-Passw0rd" not in str(AuditEntry.objects.values())


def test_every_change_carries_the_address_it_came_from(client_as):
    client_as("admin").post(reverse("people"), {"username": "ada", "role": "viewer"}, REMOTE_ADDR=ADDRESS)
    assert AuditEntry.objects.get(verb="user.created").address == ADDRESS
    audit.record(None, "user.created", services.user_create(actor=None, username="bob", role="viewer")[0], "bob")
    assert AuditEntry.objects.filter(verb="user.created", object_name="bob").values_list("address")[0] == (None,)


def test_a_denied_token_is_in_it_once_an_hour(viewer, admin):
    token, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    unknown = "ksw_" + "a" * 8 + "_" + "b" * 32

    def request_status(key: str, path: str = "jobs/") -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return int(Client(REMOTE_ADDR=ADDRESS).get(f"/api/v1/{path}", headers=headers).status_code)

    assert [request_status(key), request_status(key, "users/"), request_status(key, "users/")] == [200, 403, 403]
    services.token_revoke(actor=viewer, token=token)
    assert [request_status(key), request_status(key), request_status(unknown), request_status(unknown)] == [401] * 4
    entries = AuditEntry.objects.filter(verb="token.denied").order_by("id")
    assert [(entry.object_name, entry.details.get("token_prefix"), entry.details["reason"]) for entry in entries] == [
        ("viewer", token.prefix, "scope view, role viewer, asked to administer"),
        ("viewer", token.prefix, "revoked"),
        ("", None, "unknown"),
    ]
    assert {entry.address for entry in entries} == {ADDRESS}
    assert key not in str(entries.values())
    AuditEntry.objects.filter(verb="token.denied").update(at=timezone.now() - timedelta(hours=1))
    request_status(key)
    assert AuditEntry.objects.filter(verb="token.denied").count() == 4


def test_strangers_do_not_fill_it(viewer, monkeypatch, caplog):
    monkeypatch.setattr(audit, "REFUSALS_AN_HOUR", 10)
    for number in range(30):
        Client(REMOTE_ADDR=f"198.51.100.{number}").post(reverse("login"), {"username": "viewer", "password": "x"})
    verbs = [entry.verb for entry in AuditEntry.objects.order_by("id")]
    assert verbs == ["login.failed"] * 10 + ["audit.refusals-paused"]
    # The log of the process has each of them.
    assert sum("login.failed" in record.getMessage() for record in caplog.records) == 30
    log_in("viewer-password")
    assert of_kind("login")[-1].verb == "login.succeeded"
    AuditEntry.objects.update(at=timezone.now() - timedelta(hours=1))
    log_in("wrong")
    assert of_kind("login")[-1].verb == "login.failed"


def test_page_and_rest_filter_by_kind_and_address(client_as, api_as, trail):
    client = client_as("admin")
    assert names(client.get(reverse("audit"), {"kind": "cluster"})) == ["cluster.refreshed", "cluster.connected"]
    log_in("admin-password", "admin")
    (entry,) = api_as("admin").get("/api/v1/audit/", {"kind": "login", "address": ADDRESS}).json()["results"]
    assert (entry["verb"], entry["address"]) == ("login.succeeded", ADDRESS)
    assert api_as("admin").get("/api/v1/audit/", {"kind": "login", "address": "192.0.2.8"}).json()["results"] == []
    assert api_as("admin").get("/api/v1/audit/", {"kind": "nonsense"}).status_code == 400


def test_every_verb_in_the_code_has_a_kind():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "kschedweb").rglob("*.py"))
    calls = re.findall(r"audit\.record(?:_refusal)?\((.*?)\)\n", code, re.DOTALL)
    verbs = {verb for call in calls for verb in re.findall(r'"([a-z-]+)\.[a-z-]+"', call)}
    assert {"login", "policy", "token", "user"} <= verbs
    assert verbs <= set(audit.KINDS)


@pytest.mark.django_db(transaction=True)
class TestSentOn:
    def test_each_entry_is_a_line_of_a_file_that_only_its_owner_reads(self, settings, tmp_path, viewer, admin):
        settings.AUDIT_LOG = str(tmp_path / "audit.jsonl")
        _, key = services.token_create(user=viewer, name="Blau-Grün", scope=Action.VIEW, days=1)
        log_in("wrong")
        lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
        entries = AuditEntry.objects.order_by("id")
        assert [line["id"] for line in lines] == [entry.pk for entry in entries]
        assert [line["verb"] for line in lines] == ["token.created", "login.failed"]
        assert lines[0]["object_name"] == "Blau-Grün"
        assert lines[1]["address"] == ADDRESS
        assert set(lines[0]) == set(audit.FIELDS)
        assert key not in str(lines)
        assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600

    def test_a_file_that_was_moved_away_is_begun_anew(self, settings, tmp_path, admin):
        settings.AUDIT_LOG = str(tmp_path / "audit.jsonl")
        audit.record(admin, "user.created", admin, "one")
        (tmp_path / "audit.jsonl").rename(tmp_path / "audit.jsonl.1")
        audit.record(admin, "user.created", admin, "two")
        assert '"one"' in (tmp_path / "audit.jsonl.1").read_text()
        assert '"two"' in (tmp_path / "audit.jsonl").read_text()

    def test_what_was_taken_back_is_not_sent(self, settings, tmp_path, admin):
        settings.AUDIT_LOG = str(tmp_path / "audit.jsonl")
        with transaction.atomic():
            audit.record(admin, "user.created", admin, "one")
            transaction.set_rollback(True)
        assert not (tmp_path / "audit.jsonl").exists()

    def test_a_full_disk_stops_nobody(self, settings, admin):
        settings.AUDIT_LOG = "/dev/full"
        audit.record(admin, "user.created", admin, "one")
        assert AuditEntry.objects.get().object_name == "one"

    def test_to_the_output_of_the_process(self, settings, admin, capfd):
        settings.AUDIT_LOG = "stdout"
        audit.record(admin, "user.created", admin, "one")
        assert json.loads(capfd.readouterr().out)["object_name"] == "one"


def test_lists_in_details_are_said_as_words(client_as, editor):
    audit.record(editor, "approval.asked", editor, "web", rules=["payments", "edge"])
    page = client_as("admin").get(reverse("audit")).content.decode()
    assert "payments, edge" in page
    assert "[&#x27;payments" not in page
