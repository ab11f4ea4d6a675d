"""The pages of classic policies, as they work without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.policies import selectors, services
from tests.support.formfields import fields as form_fields
from tests.support.html import elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
PAGE = "/policies/old/"
DOCUMENT = """\
# Kept as it was written.
kind: Policy
apiVersion: v1
predicates:
  - name: PodFitsResources
  - name: CheckNodeLabelPresence
    argument:
      labelsPresence: {labels: [disk], presence: true}
priorities:
  - name: LeastRequestedPriority
    weight: 2  # more than others
"""


def fields(answer: Any) -> dict[str, str]:
    return form_fields(answer.content.decode(), "policy-form")


@pytest.fixture
def client(client_as: Callable[[str], Client], editor: User) -> Client:
    services.policy_create(name="old", document=DOCUMENT, author=editor)
    return client_as("editor")


def newest_revision() -> Any:
    return selectors.revision_get(selectors.policy_get("old"))


def save_form(client: Client, **changes: str) -> Any:
    form_data = fields(client.get(PAGE)) | changes | {"save": "1"}
    return client.post(PAGE, {name: value for name, value in form_data.items() if value != "OFF"})


@pytest.mark.parametrize(
    "address", ["/policies/", PAGE, f"{PAGE}effective/", f"{PAGE}revisions/", f"{PAGE}diff/", f"{PAGE}delete/"]
)
def test_the_pages_open(client: Client, address: str) -> None:
    assert "old" in client.get(address).content.decode()


def test_what_nobody_changed_is_saved_to_the_letter(client: Client) -> None:
    assert save_form(client).status_code == 302
    assert (newest_revision().number, newest_revision().document) == (1, DOCUMENT)


def test_fields_change_the_text_where_they_differ_and_nowhere_else(client: Client) -> None:
    save_form(
        client,
        **{
            "weight.LeastRequestedPriority": "5",
            "on.predicates.NoDiskConflict": "on",
            "on.predicates.PodFitsResources": "OFF",
            "argument.predicates.CheckNodeLabelPresence.labels": "disk\nssd",
            "general.hardPodAffinitySymmetricWeight": "7",
        },
    )
    assert (
        newest_revision().document
        == DOCUMENT.replace("weight: 2 ", "weight: 5 ")
        .replace("  - name: PodFitsResources\n", "")
        .replace("[disk]", '[disk, "ssd"]')
        .replace("priorities:", "  - name: NoDiskConflict\npriorities:")
        + "hardPodAffinitySymmetricWeight: 7\n"
    )


def test_how_it_is_started_is_kept_with_the_revision(client: Client) -> None:
    save_form(
        client, **{"process.version": "1.9", "process.gate.TaintNodesByCondition": "on", "process.maxVolumes": "12"}
    )
    assert newest_revision().process == {"version": "1.9", "gates": ["TaintNodesByCondition"], "maxVolumes": 12}
    assert newest_revision().document == DOCUMENT
    diff_page = client.get(f"{PAGE}diff/")
    assert diff_page.context["differs"]
    assert any("KUBE_MAX_PD_VOLS" in change.subject for change in diff_page.context["changes"])
    assert fields(client.get(PAGE))["process.version"] == "1.9"


def test_a_start_that_cannot_be_is_told_beside_its_field(client: Client) -> None:
    answer = save_form(client, **{"process.percentageOfNodesToScore": "101"})
    assert answer.status_code == 422
    [error] = elements(answer, "#f-process-percentageOfNodesToScore-error")
    assert "must be from 0 to 100" in error.text
    assert newest_revision().number == 1


def test_a_list_goes_to_the_default_provider_and_back(client: Client) -> None:
    save_form(client, **{"default.priorities": "on"})
    assert "priorities" not in newest_revision().document
    form_data = fields(client.get(PAGE))
    del form_data["default.priorities"]
    client.post(PAGE, form_data | {"save": "1"})
    algorithm = selectors.load_algorithm(newest_revision())
    assert algorithm.weights["NodePreferAvoidPodsPriority"] == 10000
    assert "weight: 10000" in newest_revision().document


def test_a_rule_with_an_argument_is_added_under_its_usual_name(client: Client) -> None:
    form_data = fields(client.get(PAGE)) | {"add": "priorities", "new.priorities.kind": "labelPreference"}
    page = client.post(PAGE, form_data)
    shown_fields = fields(page)
    assert "on.priorities.LabelPreference" in shown_fields
    client.post(PAGE, shown_fields | {"argument.priorities.LabelPreference.label": "ssd", "save": "1"})
    assert newest_revision().document.endswith(
        "  - name: LabelPreference\n    weight: 1\n    argument:\n      labelPreference:\n        label: ssd\n"
    )


def test_an_error_stands_beside_its_field_and_nothing_is_saved(client: Client) -> None:
    answer = save_form(client, **{"weight.LeastRequestedPriority": "0"})
    assert answer.status_code == 422
    [error] = elements(answer, "#f-weight-LeastRequestedPriority-error")
    assert "should have a positive weight" in error.text
    assert "Line 11" in answer.content.decode()
    assert newest_revision().number == 1


def test_the_preview_says_what_changes(client: Client) -> None:
    form_data = fields(client.get(PAGE)) | {"weight.LeastRequestedPriority": "9"}
    part = client.post(f"{PAGE}edit/preview/", form_data).content.decode()
    assert "LeastRequestedPriority weight" in part
    assert "2 → 9" in part


def test_text_that_cannot_be_read_keeps_what_the_form_says(client: Client) -> None:
    form_data = fields(client.get(PAGE)) | {"document": "kind: [", "weight.LeastRequestedPriority": "9"}
    shown_fields = fields(client.post(PAGE, form_data))
    assert shown_fields["weight.LeastRequestedPriority"] == "9"
    client.post(PAGE, shown_fields | {"document": DOCUMENT, "save": "1"})
    assert "weight: 9" in newest_revision().document


def test_a_json_policy_stays_json_and_downloads_as_such(client: Client, editor: User) -> None:
    services.policy_create(
        name="json", document='{"kind": "Policy", "apiVersion": "v1", "priorities": []}', author=editor
    )
    form_data = fields(client.get("/policies/json/")) | {"on.priorities.EqualPriority": "on", "save": "1"}
    client.post("/policies/json/", form_data)
    answer = client.get("/policies/json/download/")
    assert answer.json()["priorities"] == [{"name": "EqualPriority", "weight": 1}]
    assert answer["Content-Disposition"] == 'attachment; filename="json-2.json"'
    assert client.get(f"{PAGE}download/")["Content-Disposition"].endswith('old-1.yaml"')


def test_the_effective_page_marks_what_is_mandatory(client: Client) -> None:
    page = client.get(f"{PAGE}effective/").content.decode()
    assert page.index("CheckNodeCondition") < page.index("mandatory") < page.index("PodFitsResources")


def test_completion_knows_the_names(client: Client) -> None:
    schema = client.get("/policies/schema.json?kind=classic").json()
    assert "GeneralPredicates" in schema["properties"]["predicates"]["items"]["properties"]["name"]["enum"]


def test_a_new_policy_may_be_of_a_scheduler_that_was_started_otherwise(client: Client) -> None:
    document = "kind: Policy\npredicates: [{name: MaxCinderVolumeCount}]\n"
    form = {"name": "cinder", "document": document, "version": "1.13"}
    rejection = client.post("/policies/new/", form)
    assert rejection.status_code == 422
    assert list(rejection.context["form"].errors) == ["document"]
    assert client.post("/policies/new/", form | {"gates": "MaxCinderVolumeCount"}).status_code == 302
    assert selectors.revision_get(selectors.policy_get("cinder")).process == {"gates": ["MaxCinderVolumeCount"]}
    assert client.post("/policies/new/", {"name": "again", "copy_of": "cinder", "version": "1.13"}).status_code == 302
    assert selectors.revision_get(selectors.policy_get("again")).process == {"gates": ["MaxCinderVolumeCount"]}


def test_a_config_map_needs_a_connected_cluster(client: Client) -> None:
    answer = client.post("/policies/new/", {"name": "mine", "source_name": "old", "version": "1.13"})
    assert answer.status_code == 422
    assert "Choose the cluster that has the ConfigMap." in str(answer.context["form"].errors)
    both_sources = client.post(
        "/policies/new/", {"name": "mine", "source_name": "old", "document": "{}", "version": "1.13"}
    )
    assert both_sources.status_code == 422
    assert "Choose only one source" in str(both_sources.context["form"].errors)
