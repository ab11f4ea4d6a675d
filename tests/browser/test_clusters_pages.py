"""The pages of clusters in Chromium: choosing how to connect, an error beside its field, an import by paste."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.connecting.access import WITHOUT_WATCH
from kschedweb.clusters.kinds import KINDS
from kschedweb.clusters.models import Cluster, ClusterSource
from tests.clusters.conftest import node, pod


@pytest.mark.parametrize("javascript", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_the_form_shows_the_chosen_way_and_keeps_no_secret(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None], javascript: bool
) -> None:
    page = page_as("admin", javascript=javascript)
    page.goto("/clusters/connect/")
    assert page.locator("#id_kubeconfig").is_visible()
    assert not page.locator("#id_server").is_visible()
    page.get_by_label("Server and token").check()
    page.locator("#id_name").fill("far")
    page.locator("#id_server").fill("https://169.254.169.254")
    page.locator("#id_token").fill("hidden-word")
    assert not page.get_by_label("Or the file").is_visible()
    page.locator("main").get_by_role("button", name="Connect").click()
    page.wait_for_load_state()
    assert page.locator(".field-error").first.is_visible()
    assert page.locator("#id_server").input_value() == "https://169.254.169.254"
    assert "hidden-word" not in page.content()
    if javascript:
        axe(page)


KUBECONFIG = """\
current-context: admin@prod
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://kube.example.com:6443
  name: prod
- cluster: {server: 'https://127.0.0.1:40123'}
  name: kind
contexts:
- context: {cluster: prod, user: runs}
  name: admin@prod
- context: {cluster: kind, user: holds}
  name: my kind
users:
- name: runs
  user: {exec: {command: aws, args: [eks, get-token]}}
- name: holds
  user: {token: hidden-word}
"""


@pytest.mark.parametrize("way", ["paste", "file", "drop"])
def test_a_kubeconfig_is_read_in_the_page(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None], way: str
) -> None:
    page = page_as("admin", width=390 if way == "file" else 1440, dark=way == "file")
    page.goto("/clusters/connect/")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    if way == "paste":
        page.locator("#id_kubeconfig").fill(KUBECONFIG)
    elif way == "file":
        file = {"name": "config", "mimeType": "text/plain", "buffer": KUBECONFIG.encode()}
        page.locator("#id_kubeconfig_file").set_input_files(file)
    else:
        page.get_by_label("Server and token").check()
        transfer = page.evaluate_handle(
            "text => { const transfer = new DataTransfer(); transfer.items.add(new File([text], 'config')); "
            "return transfer; }",
            KUBECONFIG,
        )
        page.dispatch_event("form.connect", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("select#id_context")
    context, commands = page.locator("#id_context"), page.locator("#token-commands")
    assert page.locator("#id_name").input_value() == "prod"
    assert context.input_value() == "admin@prod"
    assert context.locator("option").all_inner_texts() == [
        "admin@prod: https://kube.example.com:6443, token from aws",
        "my kind: https://127.0.0.1:40123",
    ]
    assert "kubectl --context admin@prod create token kschedweb" in commands.inner_text()
    axe(page)
    context.select_option("my kind")
    assert not commands.is_visible()
    assert page.locator("#id_name").input_value() == "my-kind"
    context.select_option("admin@prod")
    commands.get_by_role("button", name="Enter the token").click()
    assert page.locator("#id_server").input_value() == "https://kube.example.com:6443"
    assert page.locator("#id_ca").input_value() == "-----BEGIN"
    assert page.evaluate("document.activeElement.id") == "id_token"
    assert commands.is_visible()
    # The icon of the site is asked for whenever the browser likes.
    assert [url for url in requests if "favicon" not in url] == []


def test_a_text_that_is_no_kubeconfig_leaves_the_context_to_type(live_server: Any, page_as: Callable[..., Any]) -> None:
    page = page_as("admin")
    page.goto("/clusters/connect/")
    page.locator("#id_name").fill("mine")
    page.locator("#id_kubeconfig").fill(KUBECONFIG)
    page.wait_for_selector("select#id_context")
    assert page.locator("#id_name").input_value() == "mine"
    page.locator("#id_kubeconfig").fill("hello")
    page.wait_for_selector("input#id_context")
    assert not page.locator("#token-commands").is_visible()


@pytest.mark.nightly
def test_pasting_objects_leads_to_the_cluster(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None]
) -> None:
    page = page_as("editor", width=390)
    page.goto("/clusters/import/")
    page.locator("#id_name").fill("pasted")
    page.get_by_label("Or paste").fill(json.dumps([node(), pod(), {"kind": "ConfigMap", "metadata": {"name": "c"}}]))
    page.locator("main").get_by_role("button", name="Import").click()
    page.wait_for_url("**/?cluster=pasted")
    assert page.get_by_text("1 object was left out or is doubtful").is_visible()
    page.goto("/clusters/pasted/")
    assert page.locator("h1").inner_text() == "pasted: 1 node, 1 pod, 1 pending"
    assert page.get_by_text("is of a kind that the scheduler does not read").is_visible()
    axe(page)


def test_what_is_missing_and_its_cost_can_be_read(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None]
) -> None:
    permissions = [
        {
            "resource": kind.resource,
            "verb": verb,
            "allowed": verb == "list",
            "costs": kind.costs if verb == "list" else WITHOUT_WATCH,
        }
        for kind in KINDS
        for verb in ("list", "watch")
    ]
    Cluster.objects.create(
        name="far",
        source=ClusterSource.TOKEN,
        server="https://10.0.0.1",
        permissions=permissions,
        refresh_error="It broke.",
    )
    page = page_as("admin", dark=True)
    page.goto("/clusters/far/")
    assert page.locator("h1").inner_text() == "far has not been read yet"
    assert page.get_by_text(f"{len(KINDS)} permissions are missing").is_visible()
    assert page.get_by_role("row", name="pods").get_by_text(WITHOUT_WATCH).is_visible()
    axe(page)
    page.get_by_role("link", name="Delete").click()
    page.get_by_label("Type the name").fill("far")
    axe(page)
    page.get_by_role("button", name="Delete far").click()
    page.wait_for_url("**/clusters/")
    assert not Cluster.objects.exists()
