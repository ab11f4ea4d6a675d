"""The page and REST of an extender's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kschedweb.engine.releases import CURRENT
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.extender.secrets import compute_digest

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.live.schedulers.models import LiveScheduler


def test_a_made_secret_is_shown_once(client_as: Callable[[str], Client], live: LiveScheduler) -> None:
    client = client_as("admin")
    response = client.post(f"/live/{live.pk}/extender/secret/")
    assert response["Cache-Control"] == "no-store"
    page_text = response.content.decode()
    secret = page_text.partition("kschedweb:")[2].partition("@")[0]
    assert secret.startswith("kse_")
    assert Endpoint.objects.get().digest == compute_digest(secret)
    later = client.get(f"/live/{live.pk}/extender/").content.decode()
    assert secret not in later
    assert "kschedweb:SECRET@testserver" in later
    assert CURRENT.title in later


def test_settings_are_saved_and_errors_stand_beside_their_fields(
    client_as: Callable[[str], Client], live: LiveScheduler
) -> None:
    client, address = client_as("admin"), f"/live/{live.pk}/extender/"
    good = {"plugins": ["NodeResourcesFit"], "prioritizes": "on", "timeout": "3", "weight": "7"}
    assert client.post(address, good).status_code == 302
    saved = Endpoint.objects.get()
    assert (saved.plugins, saved.filters, saved.timeout, saved.weight) == (["NodeResourcesFit"], False, 3, 7)
    page = client.get(address)
    assert "weight: 7" in page.content.decode()
    assert page.context["plugins"] == ["NodeResourcesFit"]
    assert client.post(address, {**good, "plugins": ["Unheard"]}).status_code == 400
    wrong = client.post(address, {"timeout": "3"})
    assert wrong.status_code == 422
    [[error]] = wrong.context["form"].errors.values()
    assert error == "Choose at least one thing to be asked for."
    assert Endpoint.objects.get().timeout == 3


def test_rest_changes_it_and_makes_a_secret(api_as: Callable[[str], APIClient], live: LiveScheduler) -> None:
    api, address = api_as("admin"), f"/api/v1/live/{live.pk}/extender/"
    changed = api.patch(address, {"plugins": ["NodeResourcesFit"], "binds": True}, format="json")
    assert changed.status_code == 200, changed.json()
    assert changed.json()["plugins_in_force"] == ["NodeResourcesFit"]
    assert changed.json()["engine"] == CURRENT.engine
    assert changed.json()["configuration"]["extenders"][0]["bindVerb"] == "bind"
    created = api.post(f"{address}secret/")
    assert created.status_code == 201
    assert created["Cache-Control"] == "no-store"
    assert created.json()["secret"] in created.json()["configuration"]["extenders"][0]["urlPrefix"]
    assert created.json()["secret"] not in api.get(address).content.decode()
    refused = api.patch(address, {"plugins": ["Unheard"]}, format="json")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"] == "plugins"


def test_only_an_admin_sees_and_changes_it(client_as: Callable[[str], Client], live: LiveScheduler) -> None:
    for role in ("viewer", "editor", "approver"):
        client = client_as(role)
        assert client.get(f"/live/{live.pk}/extender/").status_code == 403
        assert client.post(f"/live/{live.pk}/extender/secret/").status_code == 403
    assert not Endpoint.objects.exists()
