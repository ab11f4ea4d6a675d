"""The ready scenarios: the engine answers as their sources say, and each opens with its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from django.utils import translation

from kschedweb.engine.config import Release
from kschedweb.engine.plugins.hhewaterlevelbalance import HheWaterLevelBalance
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.play.explained_tries import ExplainedTry, explain_try
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from kschedweb.playground.runs.models import Run
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios import ready, selectors, services
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.playground.scenarios.ready import Ready, all_ready
from kschedweb.playground.scenarios.ready_install import COMMENT, ready_place
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.policies import services as policies
from kschedweb.policies.models import Policy
from tests.support import seed_runs
from tests.support.html import text
from tests.support.scenarios import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[dict[str, Any]], None]

    from django.test import Client

    from kschedweb.accounts.models import User

BY_KEY = {one.key: one for one in all_ready()}
ONE, TWO, CONFLICT = BY_KEY["spread-one-constraint"], BY_KEY["spread-two-constraints"], BY_KEY["spread-conflict"]
AFFINITY, KEYLESS = BY_KEY["spread-node-affinity"], BY_KEY["spread-nodes-without-the-key"]
OUTSIDE, ARTICLE = BY_KEY["spread-pod-outside-its-selector"], BY_KEY["watermarks-of-the-article"]
DEMO, DEVICES = BY_KEY["demo-cluster"], BY_KEY["devices"]


def decided(
    one: Ready, change: Change | None = None, configuration: str = "", release: Release = CURRENT
) -> ExplainedTry:
    """The decision of its pod, perhaps after ``change`` to the document."""
    document = yaml.safe_load(one.text)
    if change is not None:
        change(document)
    prepared = prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0)
    loaded = load(configuration or one.configuration, release)
    assert loaded.configuration is not None, loaded.errors
    return explain_try(prepared, loaded.configuration, one.pod)


def fits(one: Ready, change: Change | None = None) -> list[str]:
    found = decided(one, change).explanation
    return [found.nodes[node] for node in found.feasible.tolist()]


def mypod(document: dict[str, Any]) -> dict[str, Any]:
    return next(item for item in document["objects"] if item["metadata"]["name"] == "mypod")


def constraint(place: int, **changes: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        mypod(document)["spec"]["topologySpreadConstraints"][place].update(changes)

    return change


def trainer(change: Change) -> Change:
    """``change`` of what the claim of the ready scenario with devices asks for."""

    def changed(document: dict[str, Any]) -> None:
        named = [item for item in document["objects"] if item["metadata"]["name"] == "trainer"]
        change(next(item for item in named if item["kind"] == "ResourceClaim")["spec"]["devices"])

    return changed


def request(**changes: Any) -> Change:
    return trainer(lambda devices: devices["requests"][0]["exactly"].update(changes))


def without(place: int) -> Change:
    return lambda document: mypod(document)["spec"]["topologySpreadConstraints"].pop(place)


def labelled(name: str, **labels: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        item = next(one for one in document["objects"] if one["metadata"]["name"] == name)
        item["metadata"]["labels"] = {**item["metadata"].get("labels", {}), **labels}

    return change


ANYWAY = {"whenUnsatisfiable": "ScheduleAnyway"}
LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("{}")) >= 0'


@pytest.mark.parametrize(
    ("one", "nodes"),
    [
        (ONE, ["node3", "node4"]),
        (TWO, ["node4"]),
        (CONFLICT, []),
        (AFFINITY, ["node3", "node4"]),
        (KEYLESS, ["node2"]),
        (OUTSIDE, ["node1", "node2", "node3", "node4"]),
        (DEVICES, ["gpu-4"]),
    ],
    ids=lambda value: value.key if isinstance(value, Ready) else "",
)
def test_the_documentation_s_pods_go_where_it_says(one: Ready, nodes: list[str]) -> None:
    found = decided(one)
    assert [found.explanation.nodes[node] for node in found.explanation.feasible.tolist()] == nodes
    assert (found.placement.node in nodes) if nodes else not found.placement.node


@pytest.mark.parametrize(
    ("one", "change", "nodes"),
    [
        (ONE, constraint(0, maxSkew=2), ["node1", "node2", "node3", "node4"]),
        (ONE, constraint(0, topologyKey="node"), ["node4"]),
        (ONE, constraint(0, **ANYWAY), ["node1", "node2", "node3", "node4"]),
        (TWO, without(1), ["node3", "node4"]),
        (TWO, without(0), ["node4"]),
        (CONFLICT, constraint(0, maxSkew=2), ["node2"]),
        (CONFLICT, constraint(1, maxSkew=2), ["node3"]),
        (CONFLICT, constraint(0, **ANYWAY), ["node2"]),
        (CONFLICT, constraint(1, **ANYWAY), ["node3"]),
        (AFFINITY, lambda document: mypod(document)["spec"].pop("affinity"), ["node5"]),
        (AFFINITY, constraint(0, nodeAffinityPolicy="Ignore"), []),
        (KEYLESS, labelled("node1", zone="zoneA"), ["node3"]),
        (KEYLESS, labelled("node5", zone="zoneC"), ["node5"]),
        (OUTSIDE, labelled("mypod", foo="bar"), ["node3", "node4"]),
        (DEVICES, trainer(lambda devices: devices.pop("constraints")), ["gpu-1", "gpu-4"]),
        (DEVICES, request(tolerations=[{"key": "example.com/unhealthy", "operator": "Exists"}]), ["gpu-2", "gpu-4"]),
        (DEVICES, request(selectors=[{"cel": {"expression": LARGE.format("10Gi")}}]), ["gpu-3", "gpu-4"]),
    ],
)
def test_what_is_said_about_changing_them_is_so(one: Ready, change: Change, nodes: list[str]) -> None:
    assert fits(one, change) == nodes


def test_scores_prefer_what_the_stories_say() -> None:
    assert decided(ONE).placement.node == "node4"
    assert decided(ONE, constraint(0, **ANYWAY)).placement.node in ("node3", "node4")


@pytest.mark.parametrize("one", [ONE, TWO, CONFLICT, AFFINITY, KEYLESS, OUTSIDE, DEVICES], ids=lambda one: one.key)
def test_the_real_scheduler_says_the_same(one: Ready, oracle: Callable[[str, str], Any], real_release: Release) -> None:
    objects = [{"apiVersion": "v1", **item} for item in yaml.safe_load(one.text)["objects"]]
    waiting = [item for item in objects if item["kind"] == "Pod" and item["metadata"]["name"] == one.pod_name]
    there = [item for item in objects if item not in waiting]
    for item in waiting + there:
        if item["kind"] == "Pod":
            item["metadata"]["namespace"] = "default"
    config = yaml.safe_load(one.configuration)
    scenario = {"name": one.key, "config": config, "objects": there, "pending": waiting, "mode": "each"}
    theirs = oracle("explain", json.dumps(scenario))[0]["pods"][0]
    ours = decided(one, release=real_release).explanation.to_dict()
    for part in ("feasible", "rejected", "total", "best", "message"):
        assert ours.get(part) == theirs.get(part), part


def test_the_article_s_pod_goes_to_the_node_with_40() -> None:
    found = decided(ARTICLE)
    scored = found.explanation.to_dict()
    assert list(scored["scores"]) == ["HheWaterLevelBalance"]
    assert scored["scores"]["HheWaterLevelBalance"]["raw"] == {
        "node-a": 24, "node-b": 40, "node-c": 19, "node-d": 13, "node-e": 0,
    }  # fmt: skip
    assert found.placement.node == "node-b"
    plugin = HheWaterLevelBalance({"clusterCpu": 20.0})
    levels = plugin.levels(found.snapshot, found.pod)
    assert levels is not None
    assert levels.target[0].tolist() == [1.0, 5.0, 25.0, 50.0, 99.0]
    assert levels.score[0].tolist() == [24.0, 40.0, 18.75, 12.5, 0.25]


def test_without_a_fixed_level_the_article_s_pod_goes_to_the_node_below_the_computed_one() -> None:
    configuration = ARTICLE.configuration.replace("          clusterCpu: 20\n", "").replace("args:", "args: {}")
    assert decided(ARTICLE, configuration=configuration).placement.node == "node-c"


@pytest.mark.parametrize("one", all_ready(), ids=lambda one: one.key)
def test_each_is_a_document_of_its_own_with_a_story_and_a_policy(one: Ready) -> None:
    checked = check_scenario(one.text)
    assert checked.problems == checked.warnings == []
    assert services.slug_of(checked.name)
    assert checked.data["description"]
    assert one.story
    assert one.sentence
    assert load(one.configuration).valid
    texts = " ".join([one.sentence, *one.story, *one.tries])
    assert texts.count("`") % 2 == 0


def test_the_ids_and_orders_are_their_own() -> None:
    assert len({one.id for one in all_ready()}) == len({one.order for one in all_ready()}) == len(all_ready())


@pytest.mark.django_db
def test_the_policy_of_most_is_the_one_that_the_site_begins_with() -> None:
    assert Policy.objects.get(name="default").revisions.get().document == ONE.configuration


@pytest.fixture
def placed(db: None) -> Scenario:
    ready_place(keys=[ONE.key, ARTICLE.key])
    return Scenario.objects.get(pk=ONE.id)


def test_all_are_put_in_place_once_with_their_runs(db: None) -> None:
    first = ready_place()
    assert [one.scenario_id for one in first] == [one.id for one in all_ready()]
    runs = {run.pk: run.revision_id for run in Run.objects.exclude(ended_at=None)}
    assert set(runs.values()) == {one.pk for one in first}
    assert ready_place() == first
    assert {run.pk: run.revision_id for run in Run.objects.all()} == runs


def test_a_new_version_of_the_site_makes_a_revision_and_leaves_copies_alone(
    placed: Scenario, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = services.scenario_copy(revision=selectors.revision_get(placed), author=editor)
    newer = Ready(**{**vars(ONE), "text": ONE.text.replace("maxSkew: 1", "maxSkew: 2")})
    monkeypatch.setattr("kschedweb.playground.scenarios.ready_install.all_ready", lambda: (newer,))
    revision = ready_place()[0]
    assert (revision.number, revision.comment, revision.text) == (2, COMMENT, newer.text)
    assert Run.objects.get(revision=revision).ended_at is not None
    assert "maxSkew: 1" in selectors.revision_get(copy).text


def test_a_run_and_what_is_compared_with_it_are_of_one_release(placed: Scenario, editor: User) -> None:
    run = Run.objects.get(revision__scenario=placed)
    both = [run.label, seed_runs.packed(editor)]
    compared = comparison_start(user=editor, revision=run.revision, policies=both, seeds=[1])
    assert [one.process for one in compared.runs.order_by("position")] == [run.process] * 2
    assert run.engine == CURRENT.engine
    Run.objects.filter(pk=run.pk).update(process={})  # of before runs named their release
    ready_place(keys=[ONE.key])
    run.refresh_from_db()
    assert (run.process, run.engine) == ({"release": CURRENT.name}, CURRENT.engine)


def test_a_run_of_another_engine_is_played_again_under_its_address(placed: Scenario) -> None:
    run = Run.objects.get(revision__scenario=placed)
    Run.objects.filter(pk=run.pk).update(engine="kschedweb 0.0", outcome=b"")
    ready_place(keys=[ONE.key])
    again = Run.objects.get(revision__scenario=placed)
    assert again.pk == run.pk
    assert again.outcome == run.outcome
    assert again.engine == run.engine


def test_a_name_that_a_person_took_stays_theirs(db: None, editor: User) -> None:
    name = check_scenario(ONE.text).name
    services.scenario_create(text=EMPTY.replace("Nothing at all", f'"{name}"'), author=editor)
    revision = ready_place(keys=[ONE.key])[0]
    assert revision.scenario.name == f"{name} (ready)"
    assert ready_place(keys=[ONE.key]) == [revision]


def test_a_policy_that_a_person_changed_stays_theirs(
    placed: Scenario, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.objects.get(name=ARTICLE.policy)
    theirs = ARTICLE.configuration.replace("clusterCpu: 20", "clusterCpu: 30")
    policies.revision_save(policy=policy, document=theirs, author=editor, expected=1)
    newer = Ready(**{**vars(ARTICLE), "text": ARTICLE.text.replace("256Gi", "128Gi")})
    monkeypatch.setattr("kschedweb.playground.scenarios.ready_install.all_ready", lambda: (newer,))
    revision = ready_place()[0]
    assert policy.revisions.count() == 2
    assert Run.objects.get(revision=revision).label == f"{ARTICLE.policy}@1"


def test_one_that_cannot_be_placed_does_not_keep_the_others_away(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Ready(**{**vars(TWO), "text": TWO.text.replace("kind: Scenario", "kind: Nonsense")})
    monkeypatch.setattr("kschedweb.playground.scenarios.ready_install.all_ready", lambda: (broken, ONE))
    assert [one.scenario_id for one in ready_place()] == [ONE.id]


def test_the_demo_is_brought_along_and_needs_no_cluster(db: None) -> None:
    revision = ready_place(keys=[DEMO.key])[0]
    assert revision.snapshot is None
    assert len(selectors.load_base(revision).objects) == len(ready.demo.generate_cluster())


def test_the_list_shows_them_as_cards_and_people_s_own_as_rows(
    placed: Scenario, client_as: Callable[[str], Client], editor: User
) -> None:
    services.scenario_create(text=EMPTY, author=editor)
    page = client_as("editor").get("/scenarios/")
    text = page.content.decode()
    assert f'href="/scenarios/{ONE.id}/explained/">Spread: one constraint</a>' in text
    assert "zoneA: node1 with p1, node2 with p2; zoneB: node3 with p3, node4, empty" in text
    assert [row.name for row in page.context["page"]] == ["Nothing at all"]
    found = client_as("editor").get("/scenarios/?search=constraint")
    assert [row.name for row in found.context["page"]] == ["Spread: one constraint"]


def test_one_click_opens_the_explanation_and_one_more_the_decision(
    placed: Scenario, client_as: Callable[[str], Client]
) -> None:
    viewer = client_as("viewer")
    page = viewer.get(f"/scenarios/{placed.pk}/explained/")
    text = page.content.decode()
    assert page.context["answer"].title.startswith("mypod goes to node4")
    assert [(node.name, node.state) for node in page.context["picture"].nodes] == [
        ("node1", "rejected"), ("node2", "rejected"), ("node3", "fits"), ("node4", "chosen"),
    ]  # fmt: skip
    assert "<code>maxSkew: 1</code>" in text
    run = Run.objects.get(revision__scenario=placed)
    decision = f"/runs/{run.pk}/pods/default/mypod/"
    assert decision in text
    assert viewer.get(decision).status_code == 200
    assert viewer.get(f"/runs/{run.pk}/").status_code == 200


def test_a_pod_that_has_to_wait_is_explained_with_the_scheduler_s_words(
    db: None, client_as: Callable[[str], Client]
) -> None:
    ready_place(keys=[CONFLICT.key])
    page = client_as("viewer").get(f"/scenarios/{CONFLICT.id}/explained/")
    assert "is pending" in page.context["answer"].title
    assert page.context["answer"].quote.startswith("0/3 nodes are available: ")
    assert page.context["answer"].quote in text(page)
    assert page.context["picture"].waiting == ["mypod"]


def test_without_its_run_the_page_offers_to_start_one(placed: Scenario, client_as: Callable[[str], Client]) -> None:
    Run.objects.all().delete()
    editor = client_as("editor").get(f"/scenarios/{placed.pk}/explained/").content.decode()
    assert "Run it" in editor
    assert "Run it" not in client_as("viewer").get(f"/scenarios/{placed.pk}/explained/").content.decode()


def test_what_does_not_come_with_the_site_is_not_explained(client_as: Callable[[str], Client], editor: User) -> None:
    made = services.scenario_create(text=EMPTY, author=editor)
    assert client_as("editor").get(f"/scenarios/{made.pk}/explained/").status_code == 404


def test_a_ready_scenario_is_told_in_the_language_of_the_reader(
    placed: Scenario, client_as: Callable[[str], Client]
) -> None:
    viewer = client_as("viewer")
    names = set()
    for language in ("en", "zh-hans", "ja"):
        page = viewer.get(f"/scenarios/{ONE.id}/explained/", headers={"accept-language": language})
        with translation.override(language):
            shown, story = placed.title, BY_KEY[ONE.key].translated.story[1]
        names.add(shown)
        assert shown in text(page)
        assert story in text(page)
    assert len(names) == 3
