"""Links that stay: what a page says it shows, the link that pins it, and that the session never changes either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.services import snapshot_store
from kschedweb.policies.selectors import policy_get
from kschedweb.policies.services import policy_create, revision_save
from tests.support import addresses, seed
from tests.support.html import elements, html_of

PINNED = [
    "/decision/demo/ml/notebook/?policy=default",
    "/load-aware/?cluster=demo&policy=default",
    "/capacity/?cluster=demo&policy=default&cpu=500m&memory=1Gi",
    "/capacity/gangs/?cluster=demo&policy=default&cpu=500m&memory=1Gi&pods=2",
    "/capacity/nodes/?cluster=demo&policy=default&ask=1&pending=on&node_cpu=16&node_memory=64Gi",
    "/capacity/drain/?cluster=demo&policy=default&nodes=general-a-1",
    "/?cluster=demo&policy=default",
    "/pods/?cluster=demo&policy=default",
    "/clusters/demo/podgroups/?policy=default",
]


@pytest.fixture
def viewer(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def said(page: Any) -> str:
    [line] = elements(page, "p.resolved")
    return line.text


def copied(page: Any, address: str) -> str:
    """What "Copy link" copies, as ``pinned.ts`` joins it."""
    [button] = elements(page, "button[data-pins]")
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    pins = {name: values[0] for name, values in parse_qs(button["data-pins"]).items()}
    return f"{parts.path}?" + "&".join(f"{name}={value}" for name, value in (query | pins).items())


@pytest.mark.parametrize("address", PINNED)
def test_a_page_says_what_its_address_led_to(viewer: Client, demo: Snapshot, address: str) -> None:
    moment = f"{demo.taken_at:%Y-%m-%d %H:%M} UTC"
    assert said(viewer.get(address)) == f"Policy default, revision 1 (latest) · snapshot of {moment} (latest)"


@pytest.mark.parametrize("address", PINNED)
def test_a_copied_link_shows_the_same_when_there_is_something_newer(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]], address: str
) -> None:
    link = copied(viewer.get(address), address)
    later = snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    revision_save(policy=policy_get("default"), document=seed.POLICY.format(3), author=None, expected=1)
    page = viewer.get(link)
    scope = page.context["scope"]
    assert (scope.snapshot, scope.revision.number) == (demo, 1)
    assert said(page).startswith("Policy default, revision 1 · snapshot of ")
    assert "(latest)" not in said(page)
    assert copied(page, link) == link
    [latest] = elements(page, "p.resolved a")
    scope = viewer.get(urlsplit(address).path + latest["href"]).context["scope"]
    assert (scope.snapshot, scope.revision.number) == (later, 2)


@pytest.mark.parametrize("address", PINNED)
@pytest.mark.parametrize("unknown", ["nonsense", "00000000-0000-4000-8000-000000000000"])
def test_a_snapshot_that_is_gone_is_said(viewer: Client, address: str, unknown: str) -> None:
    answer = viewer.get(f"{address}&snapshot={unknown}")
    assert answer.status_code == 404
    assert f"Cluster demo has no snapshot {unknown}." in html_of(answer)


def test_links_of_a_pinned_page_keep_its_snapshot(viewer: Client, demo: Snapshot) -> None:
    page = viewer.get(f"/decision/demo/ml/notebook/?policy=default&revision=1&snapshot={demo.pk}")
    assert [link["href"].partition("?")[2] for link in elements(page, "a[rel=next]")] == [
        f"policy=default&revision=1&snapshot={demo.pk}"
    ]
    page = viewer.get(f"/capacity/?cluster=demo&snapshot={demo.pk}")
    assert all(f"snapshot={demo.pk}" in link["href"] for link in elements(page, ".segments a"))
    assert elements(page, f"form[action=/capacity/?cluster=demo&snapshot={demo.pk}]")


def test_a_copied_link_to_nodes_shows_its_snapshot(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]]
) -> None:
    link = copied(viewer.get("/nodes/?cluster=demo"), "/nodes/?cluster=demo")
    snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    page = viewer.get(link)
    assert page.context["scope"].snapshot == demo
    side = page.context["map"].sides[0]
    assert all(f"snapshot={demo.pk}" in address for address in (side.columns, side.frames, side.pods, side.nodes))
    assert page.context["use"] is None, "what is used now is not of that snapshot"
    kept = [field["value"] for field in elements(page, "form.filters input[name=snapshot]")]
    assert kept == [str(demo.pk)] * 2, "the filter and the map keep it"


def test_a_copied_link_to_costs_shows_its_snapshot(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]]
) -> None:
    link = copied(viewer.get("/costs/?cluster=demo&by=workload"), "/costs/?cluster=demo&by=workload")
    snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    assert viewer.get(link).context["scope"].snapshot == demo


def test_search_and_palette_look_in_the_cluster_of_the_page(viewer: Client) -> None:
    for address in ("/pods/?cluster=demo", "/clusters/demo/", "/decision/demo/ml/notebook/"):
        page = viewer.get(address)
        assert [one["value"] for one in elements(page, ".search-form input[name=cluster]")] == ["demo"], address
        assert elements(page, "#palette input[hx-get=/search/?cluster=demo]"), address
    page = viewer.get("/jobs/")
    assert not elements(page, ".search-form input[name=cluster]")
    assert elements(page, "#palette input[hx-get=/search/]")


@pytest.mark.usefixtures("no_cluster")
def test_what_the_session_chose_shows_on_no_page_of_another_cluster_or_policy(
    client_as: Callable[[str], Client],
) -> None:
    """Every page whose address names a cluster is about that one alone; likewise for a policy."""
    admin = client_as("admin")
    at = seed.everything(2, User.objects.get(username="admin"), "default/seed")
    chosen = [seed.node("chosen-node"), seed.pod("chosen-pod", bound_to="chosen-node"), seed.pod("chosen-waiting")]
    seed.imported("aaa-chosen", chosen, User.objects.get(username="admin"))
    policy_create(name="chosen-policy", document=seed.POLICY.format(7), author=None)
    addresses_of = addresses.pages(at)
    of_cluster, of_policy = set(), set()
    for name, address in addresses_of.items():
        clusters, chosen_policies = named_in(address, "cluster"), named_in(address, "policy")
        if not clusters and not chosen_policies:
            continue
        session = admin.session
        session.update({"cluster": "aaa-chosen", "policy": "chosen-policy"})
        session.save()
        page = admin.get(address)
        assert page.status_code in (200, 302), (name, page.status_code)
        if page.status_code == 302:
            continue
        if clusters:
            of_cluster.add(name)
            assert "chosen-node" not in html_of(page), name
            assert "chosen-pod" not in html_of(page), name
            assert page.context["scope"].cluster.name in clusters, name
            assert not led(page, "cluster", "aaa-chosen"), name
        if chosen_policies:
            of_policy.add(name)
            scope = page.context["scope"]
            assert scope.policy is None or scope.policy.name in chosen_policies, name
            assert not led(page, "policy", "chosen-policy"), name
    assert {"overview", "decision", "capacity-fit", "load-aware", "cluster", "pod-group"} <= of_cluster
    assert {"decision", "policy", "policy-revisions", "load-aware"} <= of_policy


def named_in(address: str, choice: str) -> set[str]:
    """The clusters, or policies, that an address names in its path or as the parameter ``choice``."""
    parts = urlsplit(address)
    found = {value.partition("@")[0] for value in parse_qs(parts.query).get(choice, [])}
    path = parts.path.strip("/").split("/")
    folders = {"cluster": ("clusters", "decision"), "policy": ("policies",)}[choice]
    if len(path) > 1 and path[0] in folders and path[1] not in ("new", "connect", "import", "repositories"):
        found.add(path[1])
    return found


def led(page: Any, choice: str, name: str) -> list[str]:
    """Links, forms and requests of a page to the cluster or policy ``name``."""
    sent = [one[kind] for kind in ("href", "action", "hx-get", "hx-post") for one in elements(page, f"[{kind}]")]
    return [address for address in sent if name in named_in(address, choice)]
