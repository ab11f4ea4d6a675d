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

BY_KEY = {scenario.key: scenario for scenario in all_ready()}
ONE_CONSTRAINT, TWO_CONSTRAINTS, CONFLICT = (
    BY_KEY["spread-one-constraint"],
    BY_KEY["spread-two-constraints"],
    BY_KEY["spread-conflict"],
)
AFFINITY, KEYLESS = BY_KEY["spread-node-affinity"], BY_KEY["spread-nodes-without-the-key"]
OUTSIDE, ARTICLE = BY_KEY["spread-pod-outside-its-selector"], BY_KEY["watermarks-of-the-article"]
DEMO, DEVICES = BY_KEY["demo-cluster"], BY_KEY["devices"]


def explain_ready(
    ready: Ready, change: Change | None = None, configuration: str = "", release: Release = CURRENT
) -> ExplainedTry:
    """The decision of its pod, perhaps after ``change`` to the document."""
    document = yaml.safe_load(ready.text)
    if change is not None:
        change(document)
    prepared_scenario = prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0)
    loading = load(configuration or ready.configuration, release)
    assert loading.configuration is not None, loading.errors
    return explain_try(prepared_scenario, loading.configuration, ready.pod)


def feasible_names(ready: Ready, change: Change | None = None) -> list[str]:
    explanation = explain_ready(ready, change).explanation
    return [explanation.nodes[node] for node in explanation.feasible.tolist()]


def find_mypod(document: dict[str, Any]) -> dict[str, Any]:
    return next(item for item in document["objects"] if item["metadata"]["name"] == "mypod")


def change_constraint(place: int, **changes: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        find_mypod(document)["spec"]["topologySpreadConstraints"][place].update(changes)

    return change


def change_trainer_claim(change: Change) -> Change:
    """``change`` of what the claim of the ready scenario with devices asks for."""

    def change_document(document: dict[str, Any]) -> None:
        trainer_objects = [item for item in document["objects"] if item["metadata"]["name"] == "trainer"]
        change(next(item for item in trainer_objects if item["kind"] == "ResourceClaim")["spec"]["devices"])

    return change_document


def change_request(**changes: Any) -> Change:
    return change_trainer_claim(lambda devices: devices["requests"][0]["exactly"].update(changes))


def drop_constraint(place: int) -> Change:
    return lambda document: find_mypod(document)["spec"]["topologySpreadConstraints"].pop(place)


def label_object(name: str, **labels: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        item = next(item for item in document["objects"] if item["metadata"]["name"] == name)
        item["metadata"]["labels"] = {**item["metadata"].get("labels", {}), **labels}

    return change


ANYWAY = {"whenUnsatisfiable": "ScheduleAnyway"}
LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("{}")) >= 0'


@pytest.mark.parametrize(
    ("ready", "nodes"),
    [
        (ONE_CONSTRAINT, ["node3", "node4"]),
        (TWO_CONSTRAINTS, ["node4"]),
        (CONFLICT, []),
        (AFFINITY, ["node3", "node4"]),
        (KEYLESS, ["node2"]),
        (OUTSIDE, ["node1", "node2", "node3", "node4"]),
        (DEVICES, ["gpu-4"]),
    ],
    ids=lambda value: value.key if isinstance(value, Ready) else "",
)
def test_the_documentation_s_pods_go_where_it_says(ready: Ready, nodes: list[str]) -> None:
    explained = explain_ready(ready)
    assert [explained.explanation.nodes[node] for node in explained.explanation.feasible.tolist()] == nodes
    assert (explained.placement.node in nodes) if nodes else not explained.placement.node


@pytest.mark.parametrize(
    ("ready", "change", "nodes"),
    [
        (ONE_CONSTRAINT, change_constraint(0, maxSkew=2), ["node1", "node2", "node3", "node4"]),
        (ONE_CONSTRAINT, change_constraint(0, topologyKey="node"), ["node4"]),
        (ONE_CONSTRAINT, change_constraint(0, **ANYWAY), ["node1", "node2", "node3", "node4"]),
        (TWO_CONSTRAINTS, drop_constraint(1), ["node3", "node4"]),
        (TWO_CONSTRAINTS, drop_constraint(0), ["node4"]),
        (CONFLICT, change_constraint(0, maxSkew=2), ["node2"]),
        (CONFLICT, change_constraint(1, maxSkew=2), ["node3"]),
        (CONFLICT, change_constraint(0, **ANYWAY), ["node2"]),
        (CONFLICT, change_constraint(1, **ANYWAY), ["node3"]),
        (AFFINITY, lambda document: find_mypod(document)["spec"].pop("affinity"), ["node5"]),
        (AFFINITY, change_constraint(0, nodeAffinityPolicy="Ignore"), []),
        (KEYLESS, label_object("node1", zone="zoneA"), ["node3"]),
        (KEYLESS, label_object("node5", zone="zoneC"), ["node5"]),
        (OUTSIDE, label_object("mypod", foo="bar"), ["node3", "node4"]),
        (DEVICES, change_trainer_claim(lambda devices: devices.pop("constraints")), ["gpu-1", "gpu-4"]),
        (
            DEVICES,
            change_request(tolerations=[{"key": "example.com/unhealthy", "operator": "Exists"}]),
            ["gpu-2", "gpu-4"],
        ),
        (DEVICES, change_request(selectors=[{"cel": {"expression": LARGE.format("10Gi")}}]), ["gpu-3", "gpu-4"]),
    ],
)
def test_what_is_said_about_changing_them_is_so(ready: Ready, change: Change, nodes: list[str]) -> None:
    assert feasible_names(ready, change) == nodes


def test_scores_prefer_what_the_stories_say() -> None:
    assert explain_ready(ONE_CONSTRAINT).placement.node == "node4"
    assert explain_ready(ONE_CONSTRAINT, change_constraint(0, **ANYWAY)).placement.node in ("node3", "node4")


@pytest.mark.parametrize(
    "ready",
    [ONE_CONSTRAINT, TWO_CONSTRAINTS, CONFLICT, AFFINITY, KEYLESS, OUTSIDE, DEVICES],
    ids=lambda ready: ready.key,
)
def test_the_real_scheduler_says_the_same(
    ready: Ready, oracle: Callable[[str, str], Any], real_release: Release
) -> None:
    objects = [{"apiVersion": "v1", **item} for item in yaml.safe_load(ready.text)["objects"]]
    waiting = [item for item in objects if item["kind"] == "Pod" and item["metadata"]["name"] == ready.pod_name]
    other_objects = [item for item in objects if item not in waiting]
    for item in waiting + other_objects:
        if item["kind"] == "Pod":
            item["metadata"]["namespace"] = "default"
    config = yaml.safe_load(ready.configuration)
    scenario = {"name": ready.key, "config": config, "objects": other_objects, "pending": waiting, "mode": "each"}
    theirs = oracle("explain", json.dumps(scenario))[0]["pods"][0]
    ours = explain_ready(ready, release=real_release).explanation.to_dict()
    for part in ("feasible", "rejected", "total", "best", "message"):
        assert ours.get(part) == theirs.get(part), part


def test_the_article_s_pod_goes_to_the_node_with_40() -> None:
    explained = explain_ready(ARTICLE)
    explanation = explained.explanation.to_dict()
    assert list(explanation["scores"]) == ["HheWaterLevelBalance"]
    assert explanation["scores"]["HheWaterLevelBalance"]["raw"] == {
        "node-a": 24, "node-b": 40, "node-c": 19, "node-d": 13, "node-e": 0,
    }  # fmt: skip
    assert explained.placement.node == "node-b"
    plugin = HheWaterLevelBalance({"clusterCpu": 20.0})
    levels = plugin.levels(explained.snapshot, explained.pod)
    assert levels is not None
    assert levels.target[0].tolist() == [1.0, 5.0, 25.0, 50.0, 99.0]
    assert levels.score[0].tolist() == [24.0, 40.0, 18.75, 12.5, 0.25]


def test_without_a_fixed_level_the_article_s_pod_goes_to_the_node_below_the_computed_one() -> None:
    configuration = ARTICLE.configuration.replace("          clusterCpu: 20\n", "").replace("args:", "args: {}")
    assert explain_ready(ARTICLE, configuration=configuration).placement.node == "node-c"


@pytest.mark.parametrize("ready", all_ready(), ids=lambda ready: ready.key)
def test_each_is_a_document_of_its_own_with_a_story_and_a_policy(ready: Ready) -> None:
    checked_scenario = check_scenario(ready.text)
    assert checked_scenario.problems == checked_scenario.warnings == []
    assert services.slug_of(checked_scenario.name)
    assert checked_scenario.data["description"]
    assert ready.story
    assert ready.sentence
    assert load(ready.configuration).valid
    texts = " ".join([ready.sentence, *ready.story, *ready.tries])
    assert texts.count("`") % 2 == 0


def test_the_ids_and_orders_are_their_own() -> None:
    assert (
        len({scenario.id for scenario in all_ready()})
        == len({scenario.order for scenario in all_ready()})
        == len(all_ready())
    )


@pytest.mark.django_db
def test_the_policy_of_most_is_the_one_that_the_site_begins_with() -> None:
    assert Policy.objects.get(name="default").revisions.get().document == ONE_CONSTRAINT.configuration


@pytest.fixture
def placed_scenario(db: None) -> Scenario:
    ready_place(keys=[ONE_CONSTRAINT.key, ARTICLE.key])
    return Scenario.objects.get(pk=ONE_CONSTRAINT.id)


def test_all_are_put_in_place_once_with_their_runs(db: None) -> None:
    first = ready_place()
    assert [revision.scenario_id for revision in first] == [scenario.id for scenario in all_ready()]
    runs = {run.pk: run.revision_id for run in Run.objects.exclude(ended_at=None)}
    assert set(runs.values()) == {revision.pk for revision in first}
    assert ready_place() == first
    assert {run.pk: run.revision_id for run in Run.objects.all()} == runs


def test_a_new_version_of_the_site_makes_a_revision_and_leaves_copies_alone(
    placed_scenario: Scenario, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = services.scenario_copy(revision=selectors.revision_get(placed_scenario), author=editor)
    newer = Ready(**{**vars(ONE_CONSTRAINT), "text": ONE_CONSTRAINT.text.replace("maxSkew: 1", "maxSkew: 2")})
    monkeypatch.setattr("kschedweb.playground.scenarios.ready_install.all_ready", lambda: (newer,))
    revision = ready_place()[0]
    assert (revision.number, revision.comment, revision.text) == (2, COMMENT, newer.text)
    assert Run.objects.get(revision=revision).ended_at is not None
    assert "maxSkew: 1" in selectors.revision_get(copy).text


def test_a_run_and_what_is_compared_with_it_are_of_one_release(placed_scenario: Scenario, editor: User) -> None:
    run = Run.objects.get(revision__scenario=placed_scenario)
    labels = [run.label, seed_runs.packed(editor)]
    comparison = comparison_start(user=editor, revision=run.revision, policies=labels, seeds=[1])
    assert [run.process for run in comparison.runs.order_by("position")] == [run.process] * 2
    assert run.engine == CURRENT.engine
    Run.objects.filter(pk=run.pk).update(process={})  # of before runs named their release
    ready_place(keys=[ONE_CONSTRAINT.key])
    run.refresh_from_db()
    assert (run.process, run.engine) == ({"release": CURRENT.name}, CURRENT.engine)


def test_a_run_of_another_engine_is_played_again_under_its_address(placed_scenario: Scenario) -> None:
    run = Run.objects.get(revision__scenario=placed_scenario)
    Run.objects.filter(pk=run.pk).update(engine="kschedweb 0.0", outcome=b"")
    ready_place(keys=[ONE_CONSTRAINT.key])
    replayed = Run.objects.get(revision__scenario=placed_scenario)
    assert replayed.pk == run.pk
    assert replayed.outcome == run.outcome
    assert replayed.engine == run.engine


def test_a_name_that_a_person_took_stays_theirs(db: None, editor: User) -> None:
    name = check_scenario(ONE_CONSTRAINT.text).name
    services.scenario_create(text=EMPTY.replace("Nothing at all", f'"{name}"'), author=editor)
    revision = ready_place(keys=[ONE_CONSTRAINT.key])[0]
    assert revision.scenario.name == f"{name} (ready)"
    assert ready_place(keys=[ONE_CONSTRAINT.key]) == [revision]


def test_a_policy_that_a_person_changed_stays_theirs(
    placed_scenario: Scenario, editor: User, monkeypatch: pytest.MonkeyPatch
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
    broken_scenario = Ready(
        **{**vars(TWO_CONSTRAINTS), "text": TWO_CONSTRAINTS.text.replace("kind: Scenario", "kind: Nonsense")}
    )
    monkeypatch.setattr(
        "kschedweb.playground.scenarios.ready_install.all_ready", lambda: (broken_scenario, ONE_CONSTRAINT)
    )
    assert [revision.scenario_id for revision in ready_place()] == [ONE_CONSTRAINT.id]


def test_the_demo_is_brought_along_and_needs_no_cluster(db: None) -> None:
    revision = ready_place(keys=[DEMO.key])[0]
    assert revision.snapshot is None
    assert len(selectors.load_base(revision).objects) == len(ready.demo.generate_cluster())


def test_the_list_shows_them_as_cards_and_people_s_own_as_rows(
    placed_scenario: Scenario, client_as: Callable[[str], Client], editor: User
) -> None:
    services.scenario_create(text=EMPTY, author=editor)
    page = client_as("editor").get("/scenarios/")
    text = page.content.decode()
    assert f'href="/scenarios/{ONE_CONSTRAINT.id}/explained/">Spread: one constraint</a>' in text
    assert "zoneA: node1 with p1, node2 with p2; zoneB: node3 with p3, node4, empty" in text
    assert [row.name for row in page.context["page"]] == ["Nothing at all"]
    search_page = client_as("editor").get("/scenarios/?search=constraint")
    assert [row.name for row in search_page.context["page"]] == ["Spread: one constraint"]


def test_one_click_opens_the_explanation_and_one_more_the_decision(
    placed_scenario: Scenario, client_as: Callable[[str], Client]
) -> None:
    viewer = client_as("viewer")
    page = viewer.get(f"/scenarios/{placed_scenario.pk}/explained/")
    text = page.content.decode()
    assert page.context["answer"].title.startswith("mypod goes to node4")
    assert [(node.name, node.state) for node in page.context["picture"].nodes] == [
        ("node1", "rejected"), ("node2", "rejected"), ("node3", "fits"), ("node4", "chosen"),
    ]  # fmt: skip
    assert "<code>maxSkew: 1</code>" in text
    run = Run.objects.get(revision__scenario=placed_scenario)
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


def test_without_its_run_the_page_offers_to_start_one(
    placed_scenario: Scenario, client_as: Callable[[str], Client]
) -> None:
    Run.objects.all().delete()
    editor = client_as("editor").get(f"/scenarios/{placed_scenario.pk}/explained/").content.decode()
    assert "Run it" in editor
    assert "Run it" not in client_as("viewer").get(f"/scenarios/{placed_scenario.pk}/explained/").content.decode()


def test_what_does_not_come_with_the_site_is_not_explained(client_as: Callable[[str], Client], editor: User) -> None:
    scenario = services.scenario_create(text=EMPTY, author=editor)
    assert client_as("editor").get(f"/scenarios/{scenario.pk}/explained/").status_code == 404


def test_a_ready_scenario_is_told_in_the_language_of_the_reader(
    placed_scenario: Scenario, client_as: Callable[[str], Client]
) -> None:
    viewer = client_as("viewer")
    names = set()
    for language in ("en", "zh-hans", "ja"):
        page = viewer.get(f"/scenarios/{ONE_CONSTRAINT.id}/explained/", headers={"accept-language": language})
        with translation.override(language):
            title, story = placed_scenario.title, BY_KEY[ONE_CONSTRAINT.key].translated.story[1]
        names.add(title)
        assert title in text(page)
        assert story in text(page)
    assert len(names) == 3
