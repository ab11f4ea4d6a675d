"""The root of REST, and what it says to a program without a token."""

from __future__ import annotations

from rest_framework.test import APIClient


def test_the_root_leads_to_every_list(api_as):
    client = api_as("viewer")
    response = client.get("/api/v1/")
    assert response.status_code == 200
    resources = response.json()["resources"]
    assert {"clusters", "policies", "scenarios", "runs", "approvals", "jobs"} <= set(resources)
    assert "root" not in resources
    assert client.get(resources["clusters"]).status_code == 200
    assert client.get(response.json()["openapi"]).status_code == 200


def test_without_a_token_the_answer_names_the_header(db):
    response = APIClient().get("/api/v1/clusters/")
    assert response.status_code == 401
    assert "Authorization: Bearer ksw_" in response.json()["detail"]
    assert response["WWW-Authenticate"] == 'Bearer realm="kschedweb"'
