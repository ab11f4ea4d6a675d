"""The policy pages, as they work without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.policies import selectors, services
from tests.support.formfields import fields as form_fields
from tests.support.html import elements, html_of, levels

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PAGE = "/policies/default/"


def read_form(answer: Any) -> dict[str, str]:
    return form_fields(answer.content.decode(), "policy-form")


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


@pytest.mark.parametrize(
    "address",
    [
        "/policies/",
        "/policies/new/",
        PAGE,
        f"{PAGE}?revision=1",
        f"{PAGE}revisions/",
        f"{PAGE}diff/",
        f"{PAGE}diff/?view=unified",
        f"{PAGE}effective/",
        f"{PAGE}delete/",
        f"{PAGE}download/",
        "/policies/schema.json",
    ],
)
def test_every_page_answers(client: Client, address: str) -> None:
    assert client.get(address).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "/policies/nobody/",
        f"{PAGE}?revision=9",
        f"{PAGE}?revision=x",
        f"{PAGE}diff/?from=9",
        f"{PAGE}diff/?to=a",
        f"{PAGE}download/?revision=99999999999",
    ],
)
def test_what_does_not_exist_is_404(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_the_strategy_is_changed_in_the_form_and_saved(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {"args.NodeResourcesFit.scoringStrategy.type": "MostAllocated"}
    updated_page = client.post(PAGE, values | {"update": "1"})
    assert "type: MostAllocated" in read_form(updated_page)["document"]
    assert selectors.policy_get("default").newest == 1
    answer = client.post(PAGE, read_form(updated_page) | {"save": "1", "comment": "pack"}, follow=True)
    assert "Saved as revision 2." in answer.content.decode()
    revision = selectors.revision_get(selectors.policy_get("default"))
    assert revision.comment == "pack"
    args = selectors.load_configuration(revision).profiles[0].args
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
    rows = [row.text for row in elements(client.get(f"{PAGE}effective/"), "tr") if "scoringStrategy" in row.text]
    assert any("MostAllocated" in row for row in rows)


def test_a_document_with_warnings_is_saved_once_they_are_accepted(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {"weight.NodeResourcesFit": "-3", "save": "1"}
    warning_page = client.post(PAGE, values)
    assert warning_page.status_code == 422
    assert "a negative weight turns the plugin's preference around" in html_of(warning_page)
    assert selectors.policy_get("default").newest == 1
    (accepted_warning,) = [element["value"] for element in elements(warning_page, "input[name=accepted_warnings]")]
    save_response = client.post(PAGE, read_form(warning_page) | {"save": "1", "accepted_warnings": accepted_warning})
    assert save_response.status_code == 302
    assert selectors.policy_get("default").newest == 2
    second_response = client.post(PAGE, read_form(client.get(PAGE)) | {"weight.NodeAffinity": "7", "save": "1"})
    assert second_response.status_code == 302  # revision 2 has that warning already


def test_an_untouched_page_saves_nothing(client: Client) -> None:
    answer = client.post(PAGE, read_form(client.get(PAGE)) | {"save": "1"}, follow=True)
    assert levels(answer) == ["info"]
    assert selectors.policy_get("default").newest == 1


def test_an_error_is_shown_at_its_line_and_beside_its_field_and_nothing_is_lost(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {"args.InterPodAffinity.hardPodAffinityWeight": "101", "comment": "more"}
    answer = client.post(PAGE, values | {"save": "1"})
    assert answer.status_code == 422
    assert [error.line for error in answer.context["editor"].checked.errors] == [8]
    assert "Line 8" in answer.content.decode()
    assert elements(answer, "#f-args-InterPodAffinity-hardPodAffinityWeight-error")
    kept_values = read_form(answer)
    assert kept_values["args.InterPodAffinity.hardPodAffinityWeight"] == "101"
    assert kept_values["comment"] == "more"


def test_yaml_that_cannot_be_read_keeps_the_form_s_changes_for_later(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {"weight.NodeAffinity": "7"}
    unreadable_page = client.post(PAGE, values | {"document": values["document"] + "a: [", "update": "1"})
    kept_values = read_form(unreadable_page)
    assert kept_values["weight.NodeAffinity"] == "7"
    assert kept_values["document"].endswith("a: [")
    mended_values = read_form(client.post(PAGE, kept_values | {"document": values["document"], "update": "1"}))
    assert "weight: 7" in mended_values["document"]


def test_a_lost_update_is_412_with_the_difference_and_can_be_saved_after_all(client: Client, editor: User) -> None:
    values = read_form(client.get(PAGE)) | {"weight.NodeAffinity": "7", "save": "1"}
    policy = selectors.policy_get("default")
    services.revision_save(policy=policy, document=HEADER + "parallelism: 4\n", author=editor, expected=1)
    answer = client.post(PAGE, values)
    page = answer.content.decode()
    assert answer.status_code == 412
    assert "Revision 2 was saved in the meantime" in page
    assert any("parallelism: 4" in line for line in answer.context["patch"])
    assert "weight: 7" in read_form(answer)["document"]
    assert client.post(PAGE, read_form(answer) | {"save": "1"}).status_code == 302
    assert selectors.policy_get("default").newest == 3


def test_profiles_are_added_shown_and_removed(client: Client) -> None:
    two = read_form(client.post(PAGE, read_form(client.get(PAGE)) | {"add_profile": "1"}))
    assert "schedulerName: scheduler-2" in two["document"]
    assert two["profile"] == "1"
    first = read_form(client.post(PAGE, two | {"show_profile": "0"}))
    assert first["profile.schedulerName"] == "default-scheduler"
    second = read_form(client.post(PAGE, first | {"show_profile": "1"}))
    assert "scheduler-2" not in read_form(client.post(PAGE, second | {"remove_profile": "1"}))["document"]


def test_a_plugin_goes_back_to_its_default(client: Client) -> None:
    page = client.get(PAGE)
    changed_values = read_form(client.post(PAGE, read_form(page) | {"weight.NodeAffinity": "7"}))
    back = read_form(client.post(PAGE, changed_values | {"reset": "NodeAffinity"}))
    assert back["document"].strip() == read_form(page)["document"].strip()


def test_the_preview_brings_every_part_of_the_page(client: Client) -> None:
    values = read_form(client.get(PAGE)) | {"weight.ImageLocality": "4"}
    page = client.post(f"{PAGE}edit/preview/", values)
    for part in ("policy-problems", "policy-effective", "policy-effect", "policy-state"):
        assert elements(page, f"#{part}")
    assert "ImageLocality weight" in page.content.decode()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"name": "mine", "copy_of": "default"}, 302),
        ({"name": "mine", "document": HEADER}, 302),
        ({"name": "mine", "file": SimpleUploadedFile("x.yaml", HEADER.encode())}, 302),
        ({"name": "mine", "file": SimpleUploadedFile("x.yaml", b"\xff\xfe\x00")}, 422),
        ({"name": "mine", "file": SimpleUploadedFile("x.yaml", b"#" * 1_100_000)}, 422),
        ({"name": "mine", "document": "kind: Pod"}, 422),
        ({"name": "default", "document": HEADER}, 409),
        ({"name": "no good", "document": HEADER}, 400),
        ({"name": "mine"}, 422),
    ],
)
def test_a_policy_is_made_on_its_page(client: Client, data: dict[str, Any], status: int) -> None:
    answer = client.post("/policies/new/", data)
    assert answer.status_code == status
    exists = selectors.policy_list().filter(name="mine").exists()
    assert exists == (status == 302)


def test_restore_download_and_delete(client: Client) -> None:
    client.post(PAGE, read_form(client.get(PAGE)) | {"weight.NodeAffinity": "7", "save": "1"})
    client.post(f"{PAGE}revisions/1/restore/", {"expected": "2"})
    policy = selectors.policy_get("default")
    assert policy.newest == 3
    repeated = client.post(f"{PAGE}revisions/1/restore/", {"expected": "3"}, follow=True)
    assert "Revision 1 is the same as revision 3, so no revision was saved." in repeated.content.decode()
    text = client.get(f"{PAGE}download/").content.decode()
    assert text == selectors.revision_get(policy, 1).document
    client.post("/policies/new/", {"name": "mine", "copy_of": "default"})
    assert client.post("/policies/mine/delete/").status_code == 302
    assert client.get("/policies/mine/").status_code == 404
    assert client.post(f"{PAGE}delete/").status_code == 409


def test_who_may_only_read_sees_and_changes_nothing(client_as: Callable[[str], Client]) -> None:
    client = client_as("viewer")
    save = "#policy-form button[name=save]"
    assert not elements(client.get(PAGE), save)
    assert elements(client_as("editor").get(PAGE), save)
    for address in (PAGE, f"{PAGE}edit/preview/", f"{PAGE}revisions/1/restore/", f"{PAGE}delete/", "/policies/new/"):
        assert client.post(address, {}).status_code == 403
    assert client.get("/policies/new/").status_code == 403
