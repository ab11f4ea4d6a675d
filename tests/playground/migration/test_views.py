"""The pages of moves: what to ask, the answer, and how far it is."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Job
from kschedweb.playground.migration import selectors, services, tasks
from kschedweb.playground.migration.models import Question
from kschedweb.policies.models import Revision
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db
Client = Callable[..., Any]


def form_data(on: Snapshot, **changes: str) -> dict[str, str]:
    fields = {"classic": "filling@1", "profile": "default@1", "snapshot": str(on.pk), "pods": "all"} | changes
    return {name: value for name, value in fields.items() if value}


def ask_question(client: Any, snapshot: Snapshot, **changes: str) -> str:
    """The address of the answer."""
    answer = client.post("/migration/", form_data(snapshot, **changes))
    assert answer.status_code == 302, html_of(answer)
    return str(answer["Location"])


def test_asking_leads_to_the_answer_with_its_differences(client_as: Client, small: Snapshot, filling: Revision) -> None:
    address = ask_question(client_as("editor"), small)
    counts = Question.objects.get().counts or {}
    page = html_of(client_as("viewer").get(address))
    [heading_html] = re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    heading = unescape(heading_html).strip()
    assert heading.startswith(f"Of 9 pods {counts['verdicts']['moves']} would move; ")
    assert counts["rules"]
    for rule in counts["rules"]:
        assert f"{rule['name']}<span" in page
    for side in ("policy=filling&amp;revision=1", "policy=default&amp;revision=1"):
        assert f"/decision/small/batch/large/?{side}&amp;snapshot={small.pk}" in page


def test_both_decisions_that_are_linked_open(client_as: Client, small: Snapshot, filling: Revision) -> None:
    client = client_as("editor")
    page = html_of(client.get(ask_question(client, small)))
    links = {unescape(link) for link in re.findall(r'href="(/decision/small/batch/[^"]+)"', page)}
    assert len(links) == 2
    for link in links:
        assert client.get(link).status_code == 200


def test_rows_are_kept_by_rule_verdict_and_search_and_sorted(
    client_as: Client, small: Snapshot, filling: Revision
) -> None:
    client = client_as("editor")
    address = ask_question(client, small)

    def rows(**query: str) -> list[str]:
        return [row.pod for row in client.get(f"{address}?{urlencode(query)}").context["page"]]

    all_rows = rows()
    assert rows(verdict="only classic") == ["batch/large"]
    assert rows(rule="profile:rejects:TaintToleration", search="large") == ["batch/large"]
    assert rows(search="nothing") == []
    assert rows(ordering="pod") == sorted(all_rows)
    assert rows(ordering="-pod") == sorted(all_rows, reverse=True)
    for ordering in ("verdict", "bound", "classic", "profile", "rule", "-share", "nonsense"):
        assert sorted(rows(ordering=ordering)) == sorted(all_rows)


def test_the_files_hold_what_the_page_shows(client_as: Client, small: Snapshot, filling: Revision) -> None:
    client = client_as("editor")
    address = ask_question(client, small)
    answer = client.get(f"{address}?format=csv")
    lines = list(csv.DictReader(b"".join(answer.streaming_content).decode().splitlines()))
    differing = selectors.differing_pods(Question.objects.get())
    assert [line["pod"] for line in lines] == [pod["pod"] for pod in differing]
    assert {line["rule"] for line in lines} == {pod["rule"]["name"] for pod in differing}
    exported = client.get(f"{address}?format=json&verdict=only+classic").json()
    assert [item["pod"] for item in exported["items"]] == ["batch/large"]


def test_without_a_profile_the_conversion_is_meant(client_as: Client, small: Snapshot, filling: Revision) -> None:
    client = client_as("editor")
    page = client.get(ask_question(client, small, profile=""))
    assert page.context["question"].profile is None
    assert "profile: its conversion" in html_of(page)


def test_the_address_says_what_is_proposed(client_as: Client, small: Snapshot, filling: Revision) -> None:
    page = client_as("editor").get("/migration/?classic=filling@1&profile=default@1")
    assert page.status_code == 200
    assert re.search(r'<option value="default@1" selected>', html_of(page))
    assert client_as("editor").get("/migration/?classic=filling").context["form"]["classic"].value() == "filling@1"
    assert 'href="/migration/?classic=filling"' in html_of(client_as("viewer").get("/policies/filling/"))
    assert elements(page, "form.capacity-form button")
    assert not elements(client_as("viewer").get("/migration/"), "form.capacity-form button")


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"classic": "default@1"}, "classic", "Select a valid choice"),
        ({"profile": "filling@1"}, "profile", "Select a valid choice"),
        ({"snapshot": "x"}, "snapshot", "Select a valid choice"),
        ({"sequence": "on"}, "sequence", "Only pods that wait"),
        ({"namespaces": "batch, nowhere"}, "namespaces", "no pods in namespace nowhere"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Client, small: Snapshot, filling: Revision, changes: dict[str, str], field: str, message: str
) -> None:
    answer = client_as("editor").post("/migration/", form_data(small, **changes))
    assert answer.status_code == 400
    error_match = re.search(rf'id="id_{field}-error">(.*?)</p>', html_of(answer), re.DOTALL)
    assert error_match is not None
    assert message in unescape(error_match[1])


def test_viewers_ask_nothing(client_as: Client, small: Snapshot, filling: Revision) -> None:
    assert client_as("viewer").post("/migration/", form_data(small)).status_code == 403


def test_without_a_classic_policy_or_a_cluster_the_page_says_what_to_do(
    client_as: Client, small: Snapshot, editor: User
) -> None:
    assert elements(client_as("editor").get("/migration/"), ".empty a[href=/policies/]")
    small.cluster.delete()
    assert elements(client_as("editor").get("/migration/"), ".empty a[href=/clusters/]")


def test_an_answer_that_takes_longer_shows_how_far_it_is(
    client_as: Client, small: Snapshot, filling: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    client = client_as("editor")
    address = ask_question(client, small)
    page = client.get(address)
    assert elements(page, "#waits[hx-trigger] progress")
    assert elements(page, f"#waits form[action=/jobs/{Job.objects.get().pk}/cancel/]")
    part = html_of(client.get(address, headers={"HX-Request": "true"}))
    assert 'hx-trigger="every 1s"' in part
    assert "<h1" not in part
    tasks.answer(str(Job.objects.get().pk))
    response = client.get(address, headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"
    assert "would move" in html_of(client.get(address))


def test_what_was_asked_before_is_listed_and_found(client_as: Client, small: Snapshot, filling: Revision) -> None:
    client = client_as("editor")
    address = ask_question(client, small)
    assert elements(client_as("viewer").get("/migration/?search=filling"), f"#asked a[href={address}]")
    nothing = client.get("/migration/?search=elsewhere")
    assert nothing.context["page"].paginator.count == 0
    assert elements(nothing, "#asked .empty a[href=/migration/]")


def test_an_answer_outlives_its_snapshot_and_its_policies(
    client_as: Client, small: Snapshot, filling: Revision
) -> None:
    client = client_as("editor")
    address = ask_question(client, small)
    small.delete()
    filling.policy.delete()
    page = html_of(client.get(address))
    assert "filling@1" in page
    assert "/decision/" not in page
