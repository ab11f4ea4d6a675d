from __future__ import annotations

import json
import re

import pytest
import yaml
from django.core.management import call_command

from tests.conftest import ROOT

COMMITTED = ROOT / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def schema(tmp_path_factory) -> dict:
    """The schema as the code says it, made without a single warning."""
    file = tmp_path_factory.mktemp("schema") / "openapi.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file))
    return json.loads(file.read_text())


def test_the_committed_schema_is_the_present_one(schema):
    assert yaml.load(COMMITTED.read_bytes(), yaml.CSafeLoader) == schema, (
        "run `make schema` and commit docs/openapi.yaml"
    )


def test_every_operation_says_what_it_does_and_how_it_fails(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            assert operation.get("summary"), name
            assert operation["security"] == [{"token": []}, {"session": []}], name
            assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}, name
            assert any(status.startswith("2") for status in operation["responses"]), name


def test_no_field_that_is_read_is_named_like_a_secret(schema):
    shown_once = {
        "CreatedToken": {"key"},
        "CreatedUser": {"temporary_password"},
        "User": {"must_change_password"},
        "CreatedWebhook": {"secret"},
        "Secret": {"secret"},
        "Show": {"key"},  # what a node map calls one of its figures
    }
    shown_once["CreatedUser"] |= shown_once["User"]
    for name, component in schema["components"]["schemas"].items():
        if name.endswith("Request") or name.startswith("New"):
            continue
        secret = {
            field
            for field in component.get("properties", {})
            if any(word in field for word in ("password", "secret", "digest", "ciphertext", "kubeconfig", "credential"))
            or field in ("key", "token")
        }
        assert secret <= shown_once.get(name, set()), name


@pytest.mark.django_db
def test_the_schema_is_for_whoever_is_logged_in(client_as, client):
    assert client.get("/api/v1/schema/").status_code == 401
    assert client_as("viewer").get("/api/v1/schema/").status_code == 200


@pytest.mark.django_db
def test_the_page_shows_every_operation_and_every_link_leads_somewhere(schema, client_as, client):
    assert client.get("/api/v1/docs/")["Location"].startswith("/login/")
    page = client_as("viewer").get("/api/v1/docs/").content.decode()
    for path, operations in schema["paths"].items():
        assert path in page
        for operation in operations.values():
            assert f'id="{operation["operationId"]}"' in page
    links = set(re.findall(r'href="#(shape-[^"]+)"', page))
    assert len(links) > 20
    assert links <= set(re.findall(r'id="(shape-[^"]+)"', page))
    # Nothing in the schema is left without a type.
    assert ">any<" not in page
