"""REST of lists: columns and views, with the powers of the pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from kschedweb.lists.models import SavedView
from tests.support.html import elements

VIEW = {"list": "pods", "name": "pending", "filters": {"pending": "true", "ordering": "-cpu"}, "hidden": ["age"]}


def test_lists_tell_their_columns_and_take_what_is_hidden(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    names = {listing["name"] for listing in api.get("/api/v1/lists/").json()}
    assert {"pods", "nodes", "jobs", "audit", "decisions"} <= names
    pods = api.get("/api/v1/lists/pods/").json()
    assert (pods["hidden"], "pending" in pods["filters"], "cluster" in pods["filters"]) == ([], True, False)
    settings_changed = api.put("/api/v1/lists/pods/", {"hidden": ["age", "node"]}, format="json").json()
    assert settings_changed["hidden"] == ["node", "age"]  # in the order of the list
    assert api.get("/api/v1/lists/pods/").json() == settings_changed
    assert api_as("editor").get("/api/v1/lists/pods/").json()["hidden"] == []


@pytest.mark.parametrize("hidden", [["name"], ["colour"]])
def test_a_column_that_cannot_be_hidden_is_named(api_as: Callable[[str], APIClient], hidden: list[str]) -> None:
    answer = api_as("viewer").put("/api/v1/lists/pods/", {"hidden": hidden}, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "hidden"
    assert hidden[0] in answer.json()["errors"][0]["message"]


def test_a_view_is_saved_read_changed_and_deleted(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    response = api.post("/api/v1/views/", VIEW, format="json")
    assert response.status_code == 201
    view = response.json()
    assert view["address"] == f"/pods/?pending=true&ordering=-cpu&view={view['id']}"
    assert api.get("/api/v1/views/").json()["results"] == [view]
    view_changed = api.patch(f"/api/v1/views/{view['id']}/", {"name": "waiting", "hidden": []}, format="json").json()
    assert (view_changed["name"], view_changed["hidden"], view_changed["filters"]) == ("waiting", [], VIEW["filters"])
    assert api_as("editor").get(f"/api/v1/views/{view['id']}/").status_code == 404
    assert api.delete(f"/api/v1/views/{view['id']}/").status_code == 204
    assert not SavedView.objects.exists()


def test_a_name_is_taken_once_a_list(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    assert api.post("/api/v1/views/", VIEW, format="json").status_code == 201
    conflict = api.post("/api/v1/views/", VIEW, format="json")
    assert (conflict.status_code, conflict.json()["errors"][0]["path"]) == (409, "name")
    assert api.post("/api/v1/views/", {"list": "nodes", "name": "pending"}, format="json").status_code == 201


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"list": "clouds"}, "list"),
        ({"filters": {"colour": "red"}}, "filters.colour"),
        ({"filters": {"pending": "perhaps", "ordering": "colour"}}, "filters.ordering"),
        ({"filters": {"cluster": "demo"}}, "filters.cluster"),
        ({"hidden": ["name"]}, "hidden"),
        ({"name": " "}, "name"),
    ],
)
def test_what_is_wrong_is_said_at_its_path(
    api_as: Callable[[str], APIClient], change: dict[str, object], path: str
) -> None:
    answer = api_as("viewer").post("/api/v1/views/", {**VIEW, **change}, format="json")
    assert answer.status_code == 400
    assert path in [item["path"] for item in answer.json()["errors"]]


def test_the_display_is_read_and_changed(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    assert api.get("/api/v1/display/").json() == {"time_zone": "", "language": "", "density": ""}
    response = api.patch("/api/v1/display/", {"time_zone": "Asia/Tokyo"}, format="json")
    assert response.json() == {"time_zone": "Asia/Tokyo", "language": "", "density": ""}
    for field, value in (("time_zone", "Asia/Nowhere"), ("language", "xx"), ("density", "tiny")):
        rejection = api.patch("/api/v1/display/", {field: value}, format="json")
        assert (rejection.status_code, rejection.json()["errors"][0]["path"]) == (400, field)


def test_settings_change_the_display_without_javascript(client_as: Callable[[str], APIClient]) -> None:
    client = client_as("viewer")
    assert client.post("/settings/", {"time_zone": "Asia/Tokyo", "density": "compact"}).status_code == 302
    assert elements(client.get("/settings/"), "option[selected][value=Asia/Tokyo]")
    assert elements(client.post("/settings/", {"time_zone": "Asia/Nowhere"}), "#id_time_zone-error")
