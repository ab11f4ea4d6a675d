"""Decisions of runs that have to be played again for longer than a request may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.decisions.inquiring.services import KIND
from kschedweb.decisions.models import Question
from kschedweb.engine.studies.play.rewind import can_rewind
from kschedweb.jobs.inquiries import deadline_step
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.models import Run
from tests.support import seed_runs
from tests.support.html import elements

pytestmark = pytest.mark.django_db
FIRST = {"attempt": "1"}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may take no time at all."""
    monkeypatch.setattr(selectors, "deadline_step", lambda seconds: deadline_step(-1.0))


def answer_question() -> list[tuple[str, int, int]]:
    """The only question is answered, as if in another process; returns the steps."""
    selectors.clear_caches()
    steps: list[tuple[str, int, int]] = []
    KIND.answer(Question.objects.get(), lambda *step: steps.append(step))
    selectors.clear_caches()
    return steps


@pytest.mark.parametrize("pod", ["important", "web-13"])
def test_a_job_finds_what_a_request_finds_and_says_how_far_it_is(
    client_as: Callable[[str], Any],
    api_as: Callable[[str], Any],
    editor: User,
    monkeypatch: pytest.MonkeyPatch,
    pod: str,
) -> None:
    run = seed_runs.run(editor)
    client, api = client_as("viewer"), api_as("viewer")
    address = f"/runs/{run.pk}/pods/default/{pod}/"
    api_address = f"/api/v1{address}decision/"
    page, quick = client.get(address, FIRST), api.get(api_address, FIRST).json()
    assert quick["decision"]["pod"] == f"default/{pod}"
    selectors.clear_caches()
    monkeypatch.setattr(selectors, "deadline_step", lambda seconds: deadline_step(-1.0))
    waits, later = client.get(address, FIRST, follow=True), api.get(api_address, FIRST)
    assert elements(waits, "#waits progress")
    assert (later.status_code, later["Retry-After"]) == (202, "2")
    assert later["Location"].endswith(waits.redirect_chain[-1][0])
    steps = answer_question()
    assert {text for text, _, _ in steps[1:]} == {selectors.REPLAYED}
    assert all(0 <= completed <= total for _, completed, total in steps)
    assert api.get(api_address, FIRST).json() == quick
    answer_page = client.get(waits.redirect_chain[-1][0], follow=True)
    assert answer_page.redirect_chain[-1][0] == f"{address}?attempt=1"
    for name in ("placement", "other_choice"):
        assert answer_page.context[name] == page.context[name]
    assert answer_page.context["answer"]["title"] == page.context["answer"].title
    assert [vars(stage) for stage in answer_page.context["stages"]] == [vars(stage) for stage in page.context["stages"]]
    rows = [(row.node, row.place, row.cells) for row in answer_page.context["rows"]]
    assert rows == [(row.node, row.place, row.cells) for row in page.context["rows"]]
    node = answer_page.context["explanation"].nodes[0]
    query = {**FIRST, "node": node, "cell": "NodeResourcesFit"}
    assert client.get(address, query, headers={"HX-Request": "true", "HX-Target": "cell"}).status_code == 200


def test_a_try_that_comes_late_in_a_long_run_is_left_to_a_job_at_once(
    client_as: Callable[[str], Any], editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = seed_runs.run(editor)
    outcome, client = selectors.load_outcome(run), client_as("viewer")
    rewound, late = "default/web-13", "default/important"
    assert can_rewind(outcome, outcome.index[rewound])
    assert outcome.attempts[outcome.index[late]] == 2  # the first of which has to be played again
    Run.objects.filter(pk=run.pk).update(seconds=60.0)
    monkeypatch.setattr(selectors, "explain_try", lambda *_, **__: pytest.fail("a request must not begin with it"))
    waits = client.get(f"/runs/{run.pk}/pods/default/important/", FIRST, follow=True)
    assert elements(waits, "#waits progress")
    monkeypatch.undo()
    answer_question()
    assert client.get(f"/runs/{run.pk}/pods/{rewound}/").status_code == 200  # its moves tell it
    assert Question.objects.count() == 1


def test_an_answer_about_a_private_scenario_is_read_by_whoever_may_see_that(
    client_as: Callable[[str], Any], api_as: Callable[[str], Any], editor: User, slow: None
) -> None:
    run = seed_runs.run(editor, seed_runs.scenario(editor, shared=False))
    later = api_as("editor").get(f"/api/v1/runs/{run.pk}/pods/default/web-13/decision/")
    question = Question.objects.get()
    assert question.job is not None
    assert question.job.private
    answer_question()
    page = f"/decisions/questions/{question.pk}/"
    assert [api_as(role).get(later["Location"]).status_code for role in ("editor", "viewer")] == [200, 404]
    assert [client_as(role).get(page).status_code for role in ("editor", "viewer")] == [302, 404]


def test_a_try_that_there_was_not_is_refused(api_as: Callable[[str], Any], editor: User) -> None:
    run = seed_runs.run(editor)
    pods_address = f"/api/v1/runs/{run.pk}/pods/default"
    assert api_as("viewer").get(f"{pods_address}/none/decision/").status_code == 404
    for wrong in ("0", "99", "x"):
        rejection = api_as("viewer").get(f"{pods_address}/web-00/decision/", {"attempt": wrong})
        assert rejection.status_code in (400, 422)
        assert rejection.json()["errors"][0]["path"] == "attempt"
