"""Pages of the site for a plugin from another package; test_third_party.py runs this beside that package."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters import services as clusters
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import PodArrives, Simulation
from kschedweb.policies import selectors
from tests.engine.builders import node, pod
from tests.policies.test_views import read_form
from tests.support.html import elements, levels, text

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
POLICY = "/policies/default/"
DECISION = "ml/notebook"


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


def save(client: Client, **changed: str) -> Any:
    """Enable the plugin in the form, with arguments, and save."""
    switches = {"on.RackLimit.filter": "on", "on.RackLimit.score": "on", "weight.RackLimit": "7"}
    form_data = read_form(client.get(POLICY)) | switches | {"args.RackLimit.label": "topology.kubernetes.io/zone"}
    return client.post(POLICY, form_data | changed | {"save": "1"}, follow=True)


@pytest.fixture
def demo(admin: User) -> None:
    clusters.demo_load(user=admin)


def test_the_form_offers_it_with_its_help_its_points_and_its_arguments(client: Client) -> None:
    page = text(client.get(POLICY))
    assert "Keeps racks from filling up, and prefers those that run few pods." in page
    assert "A rack with as many pods takes no more." in page
    for name in ("on.RackLimit.filter", "on.RackLimit.score", "weight.RackLimit", "args.RackLimit.maxPods"):
        assert f'name="{name}"' in page
    assert 'name="on.RackLimit.permit"' not in page


def test_saved_in_the_form_it_is_in_the_document_and_in_the_effective_profile(client: Client) -> None:
    assert levels(save(client, **{"args.RackLimit.maxPods": "12"})) == ["success"]
    profile = selectors.load_configuration(selectors.revision_get(selectors.policy_get("default"))).profiles[0]
    assert {"filter", "score"} == {
        point for point, refs in profile.points.items() if "RackLimit" in {r.name for r in refs}
    }
    page = client.get(f"{POLICY}effective/")
    assert "RackLimit ×7 (differs from the default)" in [plugin.text for plugin in elements(page, "li")]
    assert "RackLimit maxPods 12 (differs from the default)" in [row.text for row in elements(page, "tr")]


def test_its_own_words_stand_beside_the_field_that_is_wrong(client: Client) -> None:
    answer = save(client, **{"args.RackLimit.maxPods": "0"})
    assert answer.status_code == 422
    page = unescape(answer.content.decode())
    assert "maxPods: Invalid value: 0: must be greater than 0" in page
    assert 'id="f-args-RackLimit-maxPods-error"' in page


def test_rest_validates_it_and_knows_its_defaults(api_as: Callable[[str], Any]) -> None:
    document = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: RackLimit}]}}}]\n"
    )
    answer = api_as("viewer").post("/api/v1/policies/validate/", {"document": document}).json()
    assert answer["valid"], answer["errors"]
    (profile,) = answer["effective"]
    assert profile["points"]["score"][-1] == {"name": "RackLimit", "weight": 1}
    assert profile["args"]["RackLimit"]["maxPods"] == 10
    assert profile["args"]["RackLimit"]["label"] == "example.com/rack"


def test_it_decides_in_simulations() -> None:
    document = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: RackLimit}]}},\n"
        "  pluginConfig: [{name: RackLimit, args: {maxPods: 1}}]}]\n"
    )
    configuration = load(document).configuration
    assert configuration is not None
    nodes = [node(f"{rack}{number}", labels={"example.com/rack": rack}) for rack in "ab" for number in (1, 2)]
    arrivals = [PodArrives(float(number), pod(f"p{number}")) for number in range(3)]
    result = Simulation(nodes, configuration, arrivals).run(600.0)
    assert {bound.node[0] for bound in result.bound} == {"a", "b"}
    (waiting,) = result.pending
    assert waiting.pod == "default/p2"
    assert waiting.message.startswith("0/4 nodes are available: 4 rack(s) were full.")


def test_its_verdicts_and_scores_are_explained_on_the_page_and_over_rest(
    client: Client, api_as: Callable[[str], Any], demo: None
) -> None:
    save(client, **{"args.RackLimit.maxPods": "1"})
    full = api_as("viewer").get(f"/api/v1/clusters/demo/pods/{DECISION}/decision/").json()
    assert "rack(s) were full" in full["message"]
    assert "RackLimit" in full["filters"]
    page = text(client.get(f"/decision/demo/{DECISION}/"))
    assert "RackLimit" in page
    assert "rack(s) were full" in page

    save(client, **{"args.RackLimit.maxPods": "100000"})
    free = api_as("viewer").get(f"/api/v1/clusters/demo/pods/{DECISION}/decision/").json()
    assert free["scores"]["RackLimit"]["weight"] == 7
    assert max(free["scores"]["RackLimit"]["raw"].values()) > 0
    assert set(free["scores"]["RackLimit"]["normalized"].values()) <= set(range(101))
    assert "RackLimit" in text(client.get(f"/decision/demo/{DECISION}/"))
