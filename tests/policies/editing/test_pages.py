"""Form of a policy on its page without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.policies import services
from tests.support.formfields import fields as form_fields
from tests.support.html import elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
PAGE = "/policies/default/"
TWO = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler # ours
  - schedulerName: batch
    percentageOfNodesToScore: 30
"""


def read_form(answer: Any) -> dict[str, str]:
    values = form_fields(answer.content.decode(), "policy-form")
    return values | {"document": values["document"].replace("\r\n", "\n")}


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


def plugin_names(answer: Any) -> list[str]:
    plugin_rows = elements(answer, "li.plugin-row")
    return [row["id"].removeprefix("row-") for row in plugin_rows if "hidden" not in row.attributes]


def test_a_plugin_is_found_by_the_address_and_by_the_form(client: Client) -> None:
    page = client.get(f"{PAGE}?find=imagelocality")
    assert plugin_names(page) == ["ImageLocality"]
    values = read_form(page)
    assert values["find"] == "imagelocality"
    # Plugins that are not shown are sent as they are.
    assert "on.NodeAffinity.score" in values
    search_page = client.post(PAGE, values | {"find": "taint", "weight.ImageLocality": "4", "update": "1"})
    assert plugin_names(search_page) == ["TaintToleration"]
    assert "weight: 4" in read_form(search_page)["document"]
    changed_page = client.post(PAGE, read_form(search_page) | {"find": "", "changed": "1", "update": "1"})
    assert plugin_names(changed_page) == ["ImageLocality"]


def test_either_view_posts_the_whole_form(client: Client) -> None:
    by_plugin, by_point = (read_form(client.get(f"{PAGE}?by={by}")) for by in ("plugin", "point"))
    orders = {name for name in by_point if name.startswith("order.")}
    assert len(orders) == 15
    assert by_point.keys() - by_plugin.keys() == orders
    assert by_plugin.keys() <= by_point.keys()
    assert client.post(PAGE, by_point | {"update": "1"}).context["editor"].document == by_point["document"]


def test_a_button_moves_a_plugin_and_others_do_what_the_list_of_plugins_does(client: Client) -> None:
    values = read_form(client.get(f"{PAGE}?by=point"))
    moved_page = client.post(PAGE, values | {"move": "score NodeAffinity up"})
    assert read_form(moved_page)["order.score"].split()[:2] == ["NodeAffinity", "TaintToleration"]
    assert [element["value"] for element in elements(moved_page, "#point-score button[name=move]")][:2] == [
        "score NodeAffinity up",
        "score NodeAffinity down",
    ]
    off = read_form(moved_page)
    del off["on.ImageLocality.score"]
    answer = client.post(PAGE, off | {"update": "1"})
    assert "ImageLocality" not in read_form(answer)["order.score"]
    single_page = client.post(PAGE, read_form(answer) | {"show_plugin": "ImageLocality"})
    assert plugin_names(single_page) == ["ImageLocality"]
    assert read_form(single_page)["by"] == "plugin"


def test_an_extender_is_added_and_removed(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {
        "extenders.0.urlPrefix": "https://e.example.com",
        "extenders.0.weight": "none",
    }
    added_page = client.post(PAGE, values | {"save": "1"})
    assert added_page.status_code == 422
    error = elements(added_page, "#f-extenders-0-weight-error")[0].text
    assert error.endswith("Must be a whole number.")
    kept_values = read_form(added_page)
    assert kept_values["extenders.0.weight"] == "none"
    assert "extenders.1.urlPrefix" in kept_values
    remaining_values = read_form(client.post(PAGE, kept_values | {"remove_extender": "0"}))
    assert "extenders" not in remaining_values["document"]


def test_each_change_is_undone_and_redone(client: Client) -> None:
    first = read_form(client.get(PAGE))
    second = read_form(client.post(PAGE, first | {"weight.ImageLocality": "4", "update": "1"}))
    third = read_form(client.post(PAGE, second | {"process.release": "1.35", "update": "1"}))
    fourth = read_form(client.post(PAGE, third | {"document": third["document"] + "parallelism: 4\n", "update": "1"}))
    back = client.post(PAGE, fourth | {"undo": "1"})
    assert elements(back, "#policy-said")[0].text == "Undone."
    now = read_form(back)
    for expected in (third, second, first):
        assert {name: now[name] for name in ("document", "process.release", "weight.ImageLocality")} == {
            name: expected[name] for name in ("document", "process.release", "weight.ImageLocality")
        }
        last = now
        now = read_form(client.post(PAGE, now | {"undo": "1"}))
    assert "disabled" in elements(client.post(PAGE, last), "#f-undo")[0].attributes
    for expected in (second, third, fourth):
        now = read_form(client.post(PAGE, now | {"redo": "1"}))
        assert (now["document"], now["process.release"]) == (expected["document"], expected["process.release"])


def test_what_was_just_typed_is_the_last_change(client: Client) -> None:
    first = read_form(client.get(PAGE))
    undone = read_form(client.post(PAGE, first | {"weight.ImageLocality": "4", "undo": "1"}))
    assert undone["document"] == first["document"]
    assert "weight: 4" in read_form(client.post(PAGE, undone | {"redo": "1"}))["document"]


def test_undo_brings_back_a_text_that_can_be_read_with_what_the_form_changed_since(client: Client) -> None:
    first = read_form(client.get(PAGE))
    unreadable = read_form(client.post(PAGE, first | {"document": first["document"] + "a: [", "update": "1"}))
    twice = read_form(client.post(PAGE, unreadable | {"document": unreadable["document"] + "[", "update": "1"}))
    undone = read_form(client.post(PAGE, twice | {"undo": "1"}))
    assert undone["document"] == first["document"]
    assert read_form(client.post(PAGE, undone | {"redo": "1"}))["document"] == twice["document"]
    changed_values = read_form(client.post(PAGE, twice | {"weight.ImageLocality": "4", "undo": "1"}))
    assert changed_values["document"].startswith(first["document"])
    assert "weight: 4" in changed_values["document"]
    assert read_form(client.post(PAGE, changed_values | {"undo": "1"}))["document"] == first["document"]


@pytest.mark.parametrize("name", ["old", "crane"])
def test_other_kinds_of_policies_undo_too(client: Client, editor: User, name: str) -> None:
    documents = {
        "old": "kind: Policy\napiVersion: v1\npredicates:\n  - name: PodFitsResources # room\n",
        "crane": "apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec:\n"
        "  syncPolicy:\n    - {name: cpu_usage_avg_5m, period: 3m}\n  priority:\n"
        "    - {name: cpu_usage_avg_5m, weight: 0.2}\n",
    }
    services.policy_create(name=name, document=documents[name], author=editor)
    page = f"/policies/{name}/"
    first = read_form(client.get(page))
    process = {"process.version": "1.9"} if name == "old" else {}
    text = first["document"].replace("PodFitsResources", "HostName").replace("3m", "5m")
    second = read_form(client.post(page, first | process | {"document": text, "update": "1"}))
    assert second["document"] == text
    undone = read_form(client.post(page, second | {"undo": "1"}))
    assert undone.items() >= {key: first[key] for key in first if key.startswith(("process", "document"))}.items()
    redone = read_form(client.post(page, undone | {"redo": "1"}))
    assert redone.items() >= (process | {"document": text}).items()


def test_two_profiles_are_compared_before_and_after_they_are_saved(client: Client, editor: User) -> None:
    services.policy_create(name="two", document=TWO, author=editor)
    page = client.get("/policies/two/?beside=1")
    assert elements(page, "#beside-title")[0].text == "default-scheduler and batch differ in 1 setting"
    values = read_form(page)
    assert values["beside"] == "1"
    updated_page = client.post("/policies/two/", values | {"weight.ImageLocality": "4", "update": "1"})
    assert "differ in 2 settings" in elements(updated_page, "#beside-title")[0].text
    effective = client.get("/policies/two/effective/?profile=1&beside=0")
    assert elements(effective, "#beside-title")[0].text == "batch and default-scheduler differ in 1 setting"
    assert elements(effective, "form[method=get] input[name=profile]")[0]["value"] == "1"
    assert not elements(client.get("/policies/two/"), "#beside")


def test_what_is_shown_is_kept_over_a_save(client: Client) -> None:
    values = read_form(client.get(f"{PAGE}?by=point&find=image")) | {"weight.ImageLocality": "4"}
    answer = client.post(PAGE, values | {"save": "1"})
    assert answer.status_code == 302
    assert answer["Location"] == f"{PAGE}?find=image&by=point"


def test_who_may_only_read_can_look_for_plugins(client_as: Callable[[str], Client]) -> None:
    viewer = client_as("viewer")
    page = viewer.get(f"{PAGE}?find=imagelocality")
    assert plugin_names(page) == ["ImageLocality"]
    assert elements(page, "form[method=get] #f-find")[0]["value"] == "imagelocality"
    assert not elements(page, "#policy-form #f-find")
    assert not elements(page, "button[name=undo]")
