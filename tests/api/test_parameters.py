"""No REST address takes a parameter that it does not have, or a value that a parameter cannot have, in silence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings as site
from rest_framework.test import APIClient

from tests.api.conftest import Seed
from tests.support.routes import Choose, routes

DOCUMENT = Path(site.BASE_DIR) / "docs" / "openapi.yaml"
CHECKED_TYPES = {"boolean", "integer", "number"}


@pytest.fixture
def readable_resources(choose: Choose) -> list[tuple[str, list[dict[str, Any]]]]:
    """The address of every REST resource that can be read, with the parameters that docs/openapi.yaml has of it."""
    paths = yaml.load(DOCUMENT.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["paths"]
    templates = [
        (re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), operations["get"].get("parameters", []))
        for path, operations in paths.items()
        if "get" in operations
    ]
    resources = []
    for route in routes(choose):
        if route.is_rest and route.opened:
            parameters = next(
                path_parameters for pattern, path_parameters in templates if pattern.fullmatch(route.address)
            )
            resources.append((route.address, [parameter for parameter in parameters if parameter["in"] == "query"]))
    return resources


def problem_at(client: APIClient, address: str, name: str, value: str) -> str | None:
    """The message at the parameter ``name``, None where the answer is no 400 about it."""
    answer = client.get(address, {name: value})
    if answer.status_code != 400:
        return None
    return next((error["message"] for error in answer.json()["errors"] if error["path"] == name), None)


def test_a_parameter_that_an_address_does_not_have_is_refused_with_those_it_has(api_as, seed: Seed, readable_resources):
    client, silent = api_as("admin"), []
    for address, parameters in readable_resources:
        message = problem_at(client, address, "bananas", "1")
        if message is None or any(parameter["name"] not in message for parameter in parameters):
            silent.append(f"{address}: {message}")
    assert not silent, "\n".join(silent)


def test_a_value_that_a_parameter_cannot_have_is_refused(api_as, seed: Seed, readable_resources):
    client, silent = api_as("admin"), []
    for address, parameters in readable_resources:
        for parameter in parameters:
            schema = parameter["schema"]
            schema = schema.get("items", schema)
            if "enum" in schema or schema["type"] in CHECKED_TYPES:
                for value in ("banana", "maybe"):
                    if problem_at(client, address, parameter["name"], value) is None:
                        silent.append(f"{address}?{parameter['name']}={value}")
    assert not silent, "\n".join(silent)


def test_an_address_that_is_not_read_says_so_whatever_it_is_asked(api_as):
    for address in ("policies/validate/", "runs/start/", "clusters/demo/refresh/"):
        assert api_as("admin").get(f"/api/v1/{address}", {"bananas": "1"}).status_code == 405
