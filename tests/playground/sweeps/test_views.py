"""The pages of sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.playground.sweeps.models import Sweep, Trial, TrialState
from kschedweb.policies.models import Policy
from kschedweb.policies.services import revision_save
from tests.support import seed_runs, seed_sweeps
from tests.support.html import elements, html_of, levels

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]


def page_text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status
    return html_of(answer)


def sweep_form(editor: User, **changes: Any) -> dict[str, Any]:
    """The form of a sweep over the weight of NodeResourcesFit, as the page sends it."""
    from kschedweb.engine.releases import load
    from kschedweb.playground.sweeps.offers import weight_offers

    configuration = load(None).configuration
    assert configuration is not None
    place = [offer.plugin for offer in weight_offers(configuration)].index("NodeResourcesFit")
    form = {
        "policy": "default@1", "scenario": str(seed_runs.scenario(editor, pods=10).pk), "method": "grid",
        "trials": "20", "seeds": "1", "seed": "1", "objective-skew_cpu": "on", "direction-skew_cpu": "lower",
        f"d{place}-use": "on", f"d{place}-low": "1", f"d{place}-high": "3", f"d{place}-step": "1",
    }  # fmt: skip
    form |= {key.replace("FIT", f"d{place}"): value for key, value in changes.items()}
    return {key: value for key, value in form.items() if value is not None}


def test_the_form_asks_for_scenario_and_policy_first_then_offers_what_varies(client_as: Clients, editor: User) -> None:
    client = client_as("editor")
    first = client.get("/sweeps/new/")
    assert (first.context["base"], first.context["weights"]) == ("", [])
    assert elements(first, "form[method=get] select[name=scenario]")
    assert "NodeResourcesFit" not in page_text(first)
    revision = seed_runs.scenario(editor)
    second = client.get(f"/sweeps/new/?scenario={revision.pk}&policy=default")
    linked_page = client.get(f"/sweeps/new/?scenario={revision.scenario_id}&policy=default%401")
    for page in (second, linked_page):
        assert elements(page, f"option[value={revision.pk}][selected]")
        assert page.context["base"] == "default@1"
    assert "NodeResourcesFit" in [row.offer.plugin for row in second.context["weights"]]
    assert "scoringStrategy.<wbr>type" in page_text(second) or "scoringStrategy.type" in page_text(second)
    assert elements(second, "input[name=objective-skew_cpu]")


def test_an_editor_starts_a_sweep_sees_how_far_it_is_and_what_it_found(client_as: Clients, editor: User) -> None:
    client = client_as("editor")
    answer = client.post("/sweeps/new/", sweep_form(editor))
    sweep = Sweep.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/sweeps/{sweep.pk}/")
    assert sweep.space == [{"path": seed_sweeps.FIT, "from": 1, "to": 3, "step": 1}]
    assert elements(client.get(f"/sweeps/{sweep.pk}/"), "#progress[hx-trigger] progress[value=0][max=3]")
    seed_sweeps.work_off()
    part = client.get(f"/sweeps/{sweep.pk}/", HTTP_HX_REQUEST="true", HTTP_HX_TARGET="progress")
    assert part["HX-Refresh"] == "true"
    finished_page = client.get(f"/sweeps/{sweep.pk}/")
    assert not elements(finished_page, "#progress")
    assert "" not in finished_page.context["workers"]
    assert len(finished_page.context["entries"]) == 3
    for figure in ("pareto", "curve-1-1"):
        assert elements(finished_page, f"[data-figure={figure}-figure]")
    assert finished_page.context["sensitivity"].summary == "Too few trials are done to say what matters."
    assert sweep.title in page_text(client.get("/sweeps/"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"FIT-high": "0"}, "must be above from (1)"),
        ({"FIT-low": "one"}, "must be a number"),
        ({"FIT-use": None}, "Tick what varies: from 1 to 12"),
        ({"objective-skew_cpu": None}, "Choose from 1 to 4 objectives"),
        ({"method": "nsga2"}, "choose a second one, or TPE"),
        ({"method": "tpe", "trials": ""}, "Enter how many trials"),
        ({"method": "tpe", "trials": "5000"}, "less than or equal to 2000"),
        ({"seeds": "one"}, "Enter whole numbers"),
        ({"seeds": "1 2 3 4"}, "Enter from 1 to 3 whole numbers"),
        ({"FIT-high": "9000"}, "but 2,000 is the most"),
        ({"objective-requested_cpu": "on", "direction-requested_cpu": ""}, "should be lower or higher"),
    ],
)
def test_wrong_input_is_said_and_what_was_written_stays(
    client_as: Clients, editor: User, changes: dict[str, Any], message: str
) -> None:
    answer = client_as("editor").post("/sweeps/new/", sweep_form(editor, **changes))
    assert message in page_text(answer, 400)
    assert answer.context["base"] == "default@1"
    assert not Sweep.objects.exists()


@pytest.mark.parametrize(
    ("changes", "section"),
    [
        ({"FIT-use": None}, "space"),
        ({"FIT-high": "9000"}, "space"),
        ({"objective-skew_cpu": None}, "objectives"),
        ({"objective-requested_cpu": "on", "direction-requested_cpu": ""}, "objectives"),
    ],
)
def test_an_error_of_what_is_ticked_stands_in_its_section(
    client_as: Clients, editor: User, changes: dict[str, Any], section: str
) -> None:
    answer = client_as("editor").post("/sweeps/new/", sweep_form(editor, **changes))
    assert answer.status_code == 400
    assert list(answer.context["sections"]) == [section]
    assert elements(answer, f"fieldset[aria-describedby={section}-error] #{section}-error")


def test_several_objectives_make_a_front_that_is_exported_too(client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.sweep(editor)
    client = client_as("viewer")
    page = client.get(f"/sweeps/{sweep.pk}/")
    front = sum(row.front for row in page.context["results"].rows)
    assert front > 1
    assert f"Best trade-offs: {front} of 8 trials" in page_text(page)
    save = f"form[action=/sweeps/{sweep.pk}/save/]"
    assert not elements(page, save)
    assert elements(client_as("editor").get(f"/sweeps/{sweep.pk}/"), save)
    table = b"".join(client.get(f"/sweeps/{sweep.pk}/?format=csv").streaming_content).decode()
    assert len(table.splitlines()) == 9
    assert table.startswith("trial,origin,state,front,profiles[0]")
    rows = json.loads(client.get(f"/sweeps/{sweep.pk}/?format=json").content)
    assert rows["count"] == 8
    assert rows["items"][0]["moved"] == 0.0


def test_trials_are_sorted_by_their_heads(client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.sweep(editor)
    client, page = client_as("editor"), f"/sweeps/{sweep.pk}/"

    def ordered_trials(ordering: str) -> list[tuple[int, list[float], list[Any]]]:
        answer = client.get(page, {"ordering": ordering})
        assert answer.status_code == 200
        return [(row.number, row.values, row.trial.point) for row in answer.context["page"].object_list]

    best = ordered_trials("")
    assert ordered_trials("nonsense") == ordered_trials("objective-9") == best
    assert ordered_trials("trial") == sorted(best)
    assert ordered_trials("-trial") == sorted(best, reverse=True)
    for at in range(2):
        assert [trial[1][at] for trial in ordered_trials(f"-objective-{at}")] == sorted(
            (trial[1][at] for trial in best), reverse=True
        )
    assert [trial[2][0] for trial in ordered_trials("dimension-0")] == sorted(trial[2][0] for trial in best)
    assert 'aria-sort="descending"' in page_text(client.get(page, {"ordering": "-objective-1"}))


def test_a_trial_becomes_a_new_policy_or_a_revision_of_the_base(client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.sweep(editor)
    trial_number = next(trial.number for trial in sweep.trials.all() if trial.point == [3, "MostAllocated"])
    client = client_as("editor")
    answer = client.post(f"/sweeps/{sweep.pk}/save/", {"trial": trial_number, "name": "tuned"})
    assert (answer.status_code, answer["Location"]) == (302, "/policies/tuned/")
    revision = Policy.objects.get(name="tuned").revisions.get()
    assert revision.comment.startswith(
        f"Trial {trial_number} of the sweep “{sweep.title}”: NodeResourcesFit weight 3, "
    )
    assert revision.comment.endswith(f"/sweeps/{sweep.pk}/")
    assert "MostAllocated" in revision.document
    client.post(f"/sweeps/{sweep.pk}/save/", {"trial": trial_number, "name": "default"})
    assert Policy.objects.get(name="default").revisions.count() == 2


def test_a_trial_does_not_overwrite_what_was_saved_in_the_meantime(client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.sweep(editor)
    policy = Policy.objects.get(name="default")
    revision_save(policy=policy, document=seed_runs.PACKED, author=editor, expected=1)
    client = client_as("editor")
    answer = client.post(f"/sweeps/{sweep.pk}/save/", {"trial": 1, "name": "default"}, follow=True)
    assert levels(answer) == ["error"]
    assert policy.revisions.count() == 2
    seed_runs.packed(editor)
    answer = client.post(f"/sweeps/{sweep.pk}/save/", {"trial": 1, "name": "packed"}, follow=True)
    assert "that the sweep did not begin with" in page_text(answer)
    answer = client.post(f"/sweeps/{sweep.pk}/save/", {"trial": 99, "name": "new-one"}, follow=True)
    assert "The sweep has no trial 99." in page_text(answer)
    answer = client.post(f"/sweeps/{sweep.pk}/save/", {"trial": "1", "name": "No!"}, follow=True)
    assert levels(answer)[-1] == "error"
    assert not Policy.objects.filter(name__in=("new-one", "No!")).exists()


def test_a_sweep_is_cancelled_resumed_and_deleted_by_whoever_started_it(client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.started(editor)
    client = client_as("editor")
    address = f"/sweeps/{sweep.pk}/"

    def send_command(command: str) -> str:
        return levels(client.post(f"{address}{command}/", follow=True))[-1]

    assert send_command("delete") == "error"
    assert send_command("cancel") == "success"
    assert not elements(client.get(address), "#progress")
    assert send_command("cancel") == "error"
    assert send_command("resume") == "success"
    assert elements(client.get(address), "#progress progress[value=0][max=8]")
    seed_sweeps.work_off()
    assert Trial.objects.filter(state=TrialState.FINISHED).count() == 8
    assert send_command("resume") == "error"
    assert client_as("viewer").post(f"{address}delete/").status_code == 403
    client.post(f"{address}delete/")
    assert not Sweep.objects.exists()


def test_a_sweep_on_a_scenario_that_is_not_shared_is_not_there_for_others(client_as: Clients, admin: User) -> None:
    sweep = seed_sweeps.started(admin, seed_runs.scenario(admin, shared=False, pods=4))
    client = client_as("editor")
    assert client.get(f"/sweeps/{sweep.pk}/").status_code == 404
    assert sweep.title not in page_text(client.get("/sweeps/"))


def test_only_values_that_kube_scheduler_takes_are_offered() -> None:
    from kschedweb.engine.releases import load
    from kschedweb.playground.sweeps.offers import argument_offers

    configuration = load(None).configuration
    assert configuration is not None
    offers = {offer.label: offer for offer in argument_offers(configuration)}
    assert offers["NodeResourcesFit scoringStrategy.type"].values == "LeastAllocated, MostAllocated"
    assert offers["InterPodAffinity hardPodAffinityWeight"].high == "100"
    assert "NodeResourcesBalancedAllocation resources[cpu].weight" not in offers


def test_presets_stand_for_weights_and_measures_and_nothing_is_ticked_before(client_as: Clients, editor: User) -> None:
    client = client_as("editor")
    new = client.get("/sweeps/new/", {"policy": "default"})
    assert not [field for field in elements(new, "#main input[type=checkbox]") if "checked" in field.attributes]
    assert [goal for goal, _, _ in new.context["goals"]] == ["nodes", "even", "pending", "moves"]
    posted = sweep_form(editor, **{"FIT-use": None, "objective-skew_cpu": None})
    presets = {"vary-weights": "on", "goal-nodes": "on", "goal-moves": "on", "method": "tpe", "trials": "20"}
    assert client.post("/sweeps/new/", posted | presets).status_code == 302
    sweep = Sweep.objects.get()
    assert len(sweep.space) == len(new.context["weights"]) <= 12
    assert {objective["measure"]: objective["direction"] for objective in sweep.objectives} == {
        "nodes_empty": "higher",
        "moved": "lower",
    }
