from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from kschedweb.accounts import services
from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.roles import Role
from kschedweb.web.errors import Conflict
from tests.support.html import levels

pytestmark = pytest.mark.django_db


def test_an_added_person_logs_in_with_the_shown_password_and_must_choose_another(client_as):
    page = client_as("admin").post(reverse("people"), {"username": "ada", "email": "", "role": "editor"})
    password_match = re.search(r'id="temporary-password">([^<]+)<', page.content.decode())
    assert password_match
    assert "no-store" in page["Cache-Control"]
    ada = Client()
    assert ada.post(reverse("login"), {"username": "ada", "password": password_match[1]}).status_code == 302
    assert ada.get(reverse("settings"))["Location"] == "/password/?next=%2Fsettings%2F"
    assert ada.get("/api/v1/jobs/").status_code == 403
    password_form = {
        "old_password": password_match[1],
        "new_password1": "Lovelace-1815",
        "new_password2": "Lovelace-1815",
    }
    assert ada.post(reverse("password"), password_form).status_code == 302
    assert ada.get(reverse("settings")).status_code == 200
    assert ada.get("/api/v1/jobs/").status_code == 200


NEW_PASSWORD = {"old_password": "viewer-password", "new_password1": "Lovelace-1815", "new_password2": "Lovelace-1815"}


@pytest.fixture
def client_with_known_password(client_as, viewer):
    """The browser of somebody whose password an admin knows."""
    User.objects.filter(pk=viewer.pk).update(must_change_password=True)
    return client_as("viewer")


def onwards(page):
    """Return the address to which the password form leads on."""
    form = re.search(r'<form[^>]* action="/password/">(.*?)</form>', page.content.decode(), re.DOTALL)
    assert form
    return [unescape(value) for value in re.findall(r'name="next" value="([^"]*)"', form[1])]


def test_who_chooses_a_password_lands_on_the_page_they_came_for(client_with_known_password):
    address = "/comparisons/?state=running&page=2"
    assert onwards(client_with_known_password.get(client_with_known_password.get(address)["Location"])) == [address]
    form_page = client_with_known_password.post(
        reverse("password"), {**NEW_PASSWORD, "old_password": "wrong", "next": address}
    )
    assert onwards(form_page) == [address]
    assert (
        client_with_known_password.post(reverse("password"), {**NEW_PASSWORD, "next": address})["Location"] == address
    )


def test_a_part_of_a_page_leads_back_to_its_page_and_a_write_to_the_settings(client_with_known_password):
    part = client_with_known_password.get(
        "/jobs/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/jobs/?state=running"}
    )
    assert json.loads(part["HX-Trigger"])["refused"]["address"] == "/password/?next=%2Fjobs%2F%3Fstate%3Drunning"
    assert client_with_known_password.post(reverse("sessions-end"))["Location"] == reverse("password")
    assert client_with_known_password.post(reverse("password"), NEW_PASSWORD)["Location"] == reverse("settings")


def test_a_temporary_password_cannot_be_kept(client_with_known_password, viewer):
    same = {
        **NEW_PASSWORD,
        "new_password1": NEW_PASSWORD["old_password"],
        "new_password2": NEW_PASSWORD["old_password"],
    }
    page = client_with_known_password.post(reverse("password"), same)
    assert page.status_code == 200
    assert "differs from your current one" in str(page.context["form"].errors["new_password1"])
    viewer.refresh_from_db()
    assert viewer.must_change_password
    assert client_with_known_password.post(reverse("password"), NEW_PASSWORD).status_code == 302


def test_after_the_change_nothing_looks_as_if_it_had_failed(client_with_known_password):
    for _ in range(3):
        client_with_known_password.get("/jobs/")
        client_with_known_password.get("/approvals/badge/", headers={"HX-Request": "true"})
    settings_page = client_with_known_password.post(
        reverse("password"), {**NEW_PASSWORD, "next": reverse("password")}, follow=True
    )
    assert settings_page.redirect_chain == [(reverse("settings"), 302)]
    assert [str(message) for message in settings_page.context["messages"]] == [
        "Password changed. Your other sessions have ended."
    ]


def test_an_address_that_no_page_has_is_no_error_while_a_password_is_chosen(client_with_known_password):
    assert client_with_known_password.post(reverse("password"), {**NEW_PASSWORD, "next": "nowhere"}).status_code == 302


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "//evil.example", r"/\evil.example", "javascript:alert(1)", "https:/settings/"]
)
def test_a_new_password_leads_to_no_other_site(client_with_known_password, address):
    assert onwards(client_with_known_password.get(reverse("password"), {"next": address})) == []
    assert client_with_known_password.post(reverse("password"), {**NEW_PASSWORD, "next": address})[
        "Location"
    ] == reverse("settings")


def test_the_temporary_password_is_nowhere_in_the_audit_trail(admin):
    user, password = services.user_create(actor=admin, username="ada", role=Role.VIEWER)
    second = services.user_reset_password(actor=admin, user=user)
    trail = str(list(AuditEntry.objects.values()))
    assert password not in trail
    assert second not in trail


@pytest.mark.parametrize("name", ["ada lovelace", "a/b", "", "<b>", "x" * 151])
def test_a_name_that_no_address_could_hold_is_refused_beside_its_field(client_as, name):
    page = client_as("admin").post(reverse("people"), {"username": name, "role": "viewer"})
    assert page.status_code == 200
    assert "username" in page.context["form"].errors
    assert User.objects.count() == 1


def test_names_differ_by_more_than_case(client_as, viewer):
    page = client_as("admin").post(reverse("people"), {"username": "VIEWER", "role": "viewer"})
    assert "taken" in str(page.context["form"].errors["username"])


def test_the_last_active_admin_stays(admin):
    with pytest.raises(Conflict, match="last active admin"):
        services.user_change_role(actor=admin, user=admin, role=Role.VIEWER)
    with pytest.raises(Conflict, match="last active admin"):
        services.user_set_active(actor=admin, user=admin, active=False)
    services.user_create(actor=admin, username="second", role=Role.ADMIN)
    assert services.user_change_role(actor=admin, user=admin, role=Role.VIEWER).role == Role.VIEWER


def test_a_refused_change_is_said_on_the_page_and_changes_nothing(client_as, admin):
    client = client_as("admin")
    page = client.post(reverse("person-role", args=["admin"]), {"role": "viewer"}, follow=True)
    assert levels(page) == ["error"]
    admin.refresh_from_db()
    assert admin.role == Role.ADMIN


def test_a_changed_role_holds_on_the_next_request(client_as, editor):
    theirs = client_as("editor")
    assert theirs.get(reverse("people")).status_code == 403
    client_as("admin").post(reverse("person-role", args=["editor"]), {"role": "admin"})
    assert theirs.get(reverse("people")).status_code == 200


def test_deactivating_and_activating_is_written_down_once_each(client_as, viewer):
    client = client_as("admin")
    address = reverse("person-active", args=["viewer"])
    for active in ("false", "false", "true"):
        client.post(address, {"active": active})
    verbs = list(AuditEntry.objects.filter(object_name="viewer").order_by("id").values_list("verb", flat=True))
    assert verbs == ["user.deactivated", "user.activated"]


def test_a_session_from_before_a_deactivation_stays_dead(client_as, admin, viewer):
    client = client_as("viewer")
    user = services.user_set_active(actor=admin, user=viewer, active=False)
    services.user_set_active(actor=admin, user=user, active=True)
    assert client.get(reverse("settings")).status_code == 302


def test_a_reset_of_ones_own_password_keeps_the_session(client_as):
    client = client_as("admin")
    page = client.post(reverse("person-password", args=["admin"]))
    assert page.status_code == 200
    assert "temporary-password" in page.content.decode()
    assert client.get(reverse("people"))["Location"] == "/password/?next=%2Fpeople%2F"


class TestEnsureAdmin:
    def ensure_admin(self, capsys, *args) -> dict[str, str]:
        call_command("ensure_admin", *args)
        return dict(line.split(": ") for line in capsys.readouterr().out.splitlines())

    def test_it_prints_a_password_that_works_once_there_is_no_admin(self, db, capsys, viewer):
        credentials = self.ensure_admin(capsys)
        assert credentials["username"] == "admin"
        user = User.objects.get(username="admin")
        assert user.role == Role.ADMIN
        assert user.check_password(credentials["password"])

    def test_a_second_call_changes_and_prints_nothing(self, db, capsys):
        first = self.ensure_admin(capsys)
        assert self.ensure_admin(capsys) == {}
        assert User.objects.get().check_password(first["password"])

    def test_a_given_password_is_used_and_not_printed(self, db, capsys, monkeypatch, tmp_path):
        file = tmp_path / "password"
        file.write_text("Given-by-the-operator\n")
        monkeypatch.setenv("KSCHEDWEB_ADMIN_PASSWORD_FILE", str(file))
        assert self.ensure_admin(capsys, "--username", "root") == {}
        assert User.objects.get(username="root").check_password("Given-by-the-operator")

    def test_a_weak_given_password_is_refused_without_being_repeated(self, db, monkeypatch):
        monkeypatch.setenv("KSCHEDWEB_ADMIN_PASSWORD", "hunter2")
        with pytest.raises(CommandError, match="KSCHEDWEB_ADMIN_PASSWORD") as caught:
            call_command("ensure_admin")
        assert "hunter2" not in str(caught.value)

    def test_reset_gives_the_admin_a_new_password(self, admin, capsys):
        credentials = self.ensure_admin(capsys, "--reset")
        admin.refresh_from_db()
        assert admin.check_password(credentials["password"])
        assert admin.must_change_password
