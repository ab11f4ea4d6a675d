from __future__ import annotations

import json
import re

import pytest
import yaml
from django.core.management import call_command
from jsonschema import Draft202012Validator

from tests.conftest import ROOT
from tests.support.html import elements

COMMITTED_SCHEMA = ROOT / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def schema(tmp_path_factory) -> dict:
    """The schema as the code says it, made without a single warning."""
    file = tmp_path_factory.mktemp("schema") / "openapi.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file))
    return json.loads(file.read_text())


def test_the_committed_schema_is_the_present_one(schema):
    assert yaml.load(COMMITTED_SCHEMA.read_bytes(), yaml.CSafeLoader) == schema, (
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


def iterate_bodies(schema):
    """(operationId, media type, what the schema says of it) of everything that is sent."""
    for operations in schema["paths"].values():
        for operation in operations.values():
            for kind, media in operation.get("requestBody", {}).get("content", {}).items():
                yield operation["operationId"], kind, media


def test_every_body_has_an_example_as_the_schema_says(schema):
    """Nothing in the file of examples is about anything else."""
    exampled = set()
    for name, kind, media in iterate_bodies(schema):
        if "example" in media:
            exampled.add(name)
            full_schema = {**media["schema"], "components": schema["components"]}
            errors = [error.message for error in Draft202012Validator(full_schema).iter_errors(media["example"])]
            assert not errors, f"{name}, {kind}"
    assert exampled == {name for name, _, _ in iterate_bodies(schema)}
    assert exampled == yaml.safe_load((ROOT / "kschedweb" / "examples.yaml").read_text()).keys()


HUMP = re.compile("[a-z][A-Z]")
# What a file of that kind says: thresholds of the gate, in whose names docs/gate.md writes them.
DOCUMENTS = {"maxNewlyUnschedulable", "maxMoved", "maxPending", "maxSkewIncrease", "maxChange", "zoneLossPriority"}


def iterate_properties(part):
    """The names of all properties within a part of the schema."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from value if name == "properties" and isinstance(value, dict) else ()
            yield from iterate_properties(value)
    elif isinstance(part, list):
        for element in part:
            yield from iterate_properties(element)


def test_properties_are_written_in_one_way(schema):
    parameter_names = [
        parameter["name"]
        for path in schema["paths"].values()
        for operation in path.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] != "header"
    ]
    names = {*iterate_properties(schema["components"]), *iterate_properties(schema["paths"]), *parameter_names}
    assert len(names) > 300
    assert {name for name in names if HUMP.search(name)} == DOCUMENTS
    assert not [name for name in names if "-" in name]


# Names of numbers that mean nothing without a unit, and what says the unit, in the name or in the description.
MEASURED_NAME = re.compile(
    r"(cpu|memory|share|seconds|latency|interval|timeout|age|size|waited|skew|deviation|hottest|coldest|mean|qps|rate|"
    r"days|hours|mib|oldest|youngest|lasted|renew|resolution)(_|$)|^(time|margin|difference|burst|low|high)$"
)
UNIT = re.compile(
    r"seconds?|millicores|bytes|mib|thousandths|percent|points?|days|hours|values|requests|lives|as collected|0 to 1",
    re.IGNORECASE,
)


def test_numbers_say_what_they_are_counted_in(schema):
    measured_fields = {
        f"{component}.{name}": f"{name} {field.get('description', '')} {component_schema.get('description', '')}"
        for component, component_schema in schema["components"]["schemas"].items()
        for name, field in component_schema.get("properties", {}).items()
        if field.get("type") in ("integer", "number") and MEASURED_NAME.search(name)
    }
    assert len(measured_fields) > 40
    assert {name: words for name, words in measured_fields.items() if not UNIT.search(words)} == {}


def test_who_must_say_which_revision_was_edited_is_told_so(schema):
    """By the parameter and by 428; renaming a scenario asks for it, sharing one does not."""
    operations_asking = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "If-Match":
                    operations_asking[f"{method} {path.removeprefix('/api/v1')}"] = parameter.get("required", False)
                    assert {"412", "428"} <= operation["responses"].keys(), path
    assert operations_asking == {
        "put /clusters/{name}/prices/": True,
        "delete /clusters/{name}/prices/": True,
        "post /policies/{name}/revisions/": True,
        "post /policies/{name}/revisions/{number}/restore/": True,
        "patch /scenarios/{scenario_id}/": False,
        "post /scenarios/{scenario_id}/revisions/": True,
        "post /scenarios/{scenario_id}/revisions/{number}/restore/": True,
    }


def test_no_field_that_is_read_is_named_like_a_secret(schema):
    shown_once = {
        "CreatedToken": {"key"},
        "CreatedUser": {"temporary_password"},
        "User": {"must_change_password"},
        "CreatedWebhook": {"secret"},
        "Secret": {"secret"},
        "ListColumn": {"key"},  # what a list calls one of its columns
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


@pytest.mark.django_db
def test_the_page_finds_operations_and_shows_how_each_is_called(schema, client_as):
    viewer = client_as("viewer")
    full_page = viewer.get("/api/v1/docs/")
    operations = sum(len(path) for path in schema["paths"].values())
    assert (
        full_page.context["match_count"]
        == full_page.context["total"]
        == operations
        == len(elements(full_page, "[data-operation]"))
    )
    search_page = viewer.get("/api/v1/docs/", {"search": "policies POST"})
    assert 0 < search_page.context["match_count"] < operations
    operations_shown = [operation for tag in search_page.context["groups"].values() for operation in tag]
    assert {operation.method for operation in operations_shown} == {"POST"}
    save = next(operation for operation in operations_shown if operation.id == "policies_revisions_create")
    assert save.command.startswith("curl -H \"Authorization: Bearer $TOKEN\" -X POST -H 'If-Match: …'")
    assert json.loads(save.example) == bodies_by_name(schema)[save.id]
    assert not elements(viewer.get("/api/v1/docs/", {"search": "no such thing"}), "[data-operation]")
    assert elements(viewer.get("/tokens/"), "main a[href=/api/v1/docs/]")


def bodies_by_name(schema):
    return {name: media["example"] for name, _, media in iterate_bodies(schema) if "example" in media}
