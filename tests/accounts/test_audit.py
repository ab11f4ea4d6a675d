from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from kschedweb.accounts import audit
from kschedweb.dashboard.exports import csv_cell

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
    assert names(client.get(reverse("audit"))) == ["cluster.refreshed", "cluster.connected", "policy.saved"]
    assert names(client.get(reverse("audit"), {"actor": "Editor"})) == ["policy.saved"]
    assert names(client.get(reverse("audit"), {"verb": "cluster."})) == ["cluster.refreshed", "cluster.connected"]
    assert names(client.get(reverse("audit"), {"search": "calc"})) == ["policy.saved"]
    assert names(client.get(reverse("audit"), {"until": "2000-01-01"})) == []


def test_the_rest_resource_takes_the_same_filters(api_as, trail):
    found = api_as("admin").get("/api/v1/audit/", {"object_name": "production"}).json()["results"]
    assert [(entry["actor_name"], entry["verb"]) for entry in found] == [
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
    from kschedweb.accounts.models import AuditEntry

    assert AuditEntry.objects.get(verb="x").details == {
        "kubeconfig": "[redacted]",
        "note": "Bearer [redacted]",
        "count": 2,
    }
