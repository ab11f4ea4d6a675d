"""DynamicSchedulerPolicy documents as policies: read, edited, compared, and pointed at by policyConfigPath."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.decisions.selectors import policy_choices, revisions_to_compare
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.plugins.dynamic.policyfile import API_VERSION, KIND, load_policy_file
from kschedweb.engine.state.watermarks.crane import SAMPLE_POLICY
from kschedweb.policies import services
from kschedweb.policies.crane import editor
from kschedweb.policies.crane.example import compute_example
from kschedweb.policies.dialects import CRANE, check_either
from kschedweb.policies.files import with_files
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import load_configuration, revision_get
from tests.support.html import elements
from tests.support.seed_crane import FILE, POINTS

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User


def test_it_is_known_by_its_kind_and_read_without_an_error() -> None:
    checked = check_either(FILE)
    assert (checked.kind, checked.valid, checked.errors, checked.warnings) == ("crane", True, [], [])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("maxLimitPecent", "maxLimitPercent", 11, 'unknown field "spec.predicate[0].maxLimitPercent"'),
        ("period: 3m", "period: 3 minutes", 8, 'time: unknown unit " minutes" in duration "3 minutes"'),
        ("count: 2", "count: 0", 19, "spec.hotValue[1].count: Invalid value: 0: must not be 0"),
        (
            "weight: 0.2",
            "weight: heavy",
            14,
            "cannot unmarshal string into Go struct field",
        ),
        ("v1alpha1", "v1", 2, f'no kind "{KIND}" is registered for version "scheduler.policy.crane.io/v1"'),
    ],
)
def test_what_crane_refuses_is_told_in_its_words_at_its_line(old: str, new: str, line: int, message: str) -> None:
    [problem] = check_either(FILE.replace(old, new)).errors
    assert (message in problem.message, problem.line) == (True, line), problem


def test_what_has_no_effect_is_a_warning_at_its_line() -> None:
    [warning] = check_either(FILE.replace("name: cpu_usage_avg_5m\n      weight", "name: other\n      weight")).warnings
    assert 'spec.priority[0]: "other" has no syncPolicy, so it scores 0 everywhere' in warning.message
    assert warning.line == 13


def form_data(view: editor.CraneEditor, **changes: str) -> dict[str, str]:
    cells = [field for top in view.fields for field in top.walk() if field.kind not in ("group", "table")]
    values = {cell.name: cell.value for cell in cells} | changes
    return {"document": view.document, "base": view.base, **values}


def test_an_untouched_form_changes_nothing() -> None:
    assert editor.read_posted(form_data(editor.open_editor(FILE))).document == FILE


def test_the_form_edits_all_four_lists_and_leaves_the_rest_of_the_text() -> None:
    view = editor.open_editor(FILE)
    edited_view = editor.read_posted(
        form_data(
            view,
            **{
                "spec.syncPolicy.0.period": "5m",
                "spec.predicate.0.maxLimitPecent": "0.8",
                "spec.priority.1.name": "mem_usage_avg_5m",
                "spec.priority.1.weight": "0.5",
                "spec.hotValue.1.timeRange": "",
                "spec.hotValue.1.count": "",
            },
        )
    )
    assert edited_view.document.startswith("# Ours.\n")
    assert "maxLimitPecent: 0.8 # crane spells it so" in edited_view.document
    assert parse_document(edited_view.document).data["spec"] == {
        "syncPolicy": [{"name": "cpu_usage_avg_5m", "period": "5m"}],
        "predicate": [{"name": "cpu_usage_avg_5m", "maxLimitPecent": 0.8}],
        "priority": [{"name": "cpu_usage_avg_5m", "weight": 0.2}, {"name": "mem_usage_avg_5m", "weight": 0.5}],
        "hotValue": [{"timeRange": "5m", "count": 5}],
    }


def test_a_wrong_value_stands_at_its_cell() -> None:
    edited_view = editor.read_posted(form_data(editor.open_editor(FILE), **{"spec.hotValue.0.count": "0"}))
    [cell] = [field for top in edited_view.fields for field in top.walk() if field.problems]
    assert (cell.name, cell.value) == ("spec.hotValue.0.count", "0")


def test_the_example_tells_cranes_factor_and_the_articles_point() -> None:
    policy = load_policy_file(FILE).policy
    assert policy is not None
    example = compute_example(policy)
    # 5 pods: 1 for five within 5 minutes, 2 for each two within a minute.
    assert (example.base, example.heat, example.factor, example.score, example.as_told) == (60, 3, 10, 30, 57)
    assert [(rule.window, rule.points) for rule in example.rules] == [("5m0s", 1), ("1m0s", 2)]
    assert [(metric.valid, metric.limit, metric.share) for metric in example.metrics] == [("8m0s", "65 %", "100 %")]


@given(
    st.lists(st.tuples(st.sampled_from(["1m", "5m", "90s"]), st.integers(1, 9)), max_size=3),
    st.lists(st.tuples(st.sampled_from(list("abc")), st.floats(0, 4)), max_size=3),
)
def test_the_example_of_any_policy_is_within_the_scores(
    rules: list[tuple[str, int]], weights: list[tuple[str, float]]
) -> None:
    spec = {
        "syncPolicy": [{"name": name, "period": "3m"} for name in "abc"],
        "priority": [{"name": name, "weight": weight} for name, weight in weights],
        "hotValue": [{"timeRange": span, "count": count} for span, count in rules],
    }
    policy = load_policy_file({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}).policy
    assert policy is not None
    example = compute_example(policy)
    assert 0 <= example.score <= 100
    if sum(weight for _, weight in weights):
        assert example.score == max(0, example.base - 10 * example.heat)


def test_its_revisions_differ_by_rule() -> None:
    changed_file = FILE.replace("0.65", "0.7").replace("    - timeRange: 1m\n      count: 2\n", "")
    changes = CRANE.changes(CRANE.check(FILE, {}), CRANE.check(changed_file, {}))
    assert [(change.subject, change.before, change.after) for change in changes] == [
        ("predicate.cpu_usage_avg_5m.maxLimitPecent", "0.65", "0.7"),
        ("hotValue.1m0s", '{"count": 2}', ""),
    ]
    assert CRANE.list_deviations(CRANE.check(CRANE.defaults, {})) == []


@pytest.fixture
def watermark_policy(admin: User) -> Policy:
    return services.policy_create(name="watermark", document=FILE, author=admin)


def dynamic_policy(revision: Revision) -> dict[str, Any]:
    dynamic: dict[str, Any] = load_configuration(revision).profiles[0].args["Dynamic"]["policy"]
    return dynamic


def test_a_policy_takes_the_document_of_its_files_name_and_keeps_it(admin: User, watermark_policy: Policy) -> None:
    policy = services.policy_create(name="aware", document=POINTS, author=admin)
    first = revision_get(policy)
    assert first.process["files"] == {"/etc/kubernetes/watermark.yaml": FILE}
    assert dynamic_policy(first)["priority"] == [{"name": "cpu_usage_avg_5m", "weight": 0.2}]
    services.revision_save(policy=watermark_policy, document=FILE.replace("0.2", "0.9"), author=admin, expected=1)
    assert dynamic_policy(revision_get(policy, 1))["priority"][0]["weight"] == 0.2
    second = services.revision_save(policy=policy, document=POINTS, author=admin, expected=1)
    assert (second.number, dynamic_policy(revision_get(policy))["priority"][0]["weight"]) == (2, 0.9)
    third = services.revision_restore(policy=policy, number=1, author=admin, expected=2)
    assert (third.number, dynamic_policy(revision_get(policy))["priority"][0]["weight"]) == (3, 0.2)


def test_a_path_without_a_document_leaves_the_shipped_policy_and_says_so(admin: User) -> None:
    policy = services.policy_create(name="aware", document=POINTS, author=admin)
    revision = revision_get(policy)
    assert "files" not in revision.process
    assert dynamic_policy(revision)["hotValue"] == SAMPLE_POLICY["hotValue"]
    [warning] = [warning for warning in revision.checked().warnings if "policyConfigPath" in warning.path]
    assert '"/etc/kubernetes/watermark.yaml" is not known here' in warning.message


@pytest.mark.parametrize("path", ['"/\\0/watermark.yaml"', "/etc/Water Mark.yaml", '""', "3", "/"])
def test_a_path_that_names_nothing_stored_takes_nothing(watermark_policy: Policy, path: str) -> None:
    document = POINTS.replace("/etc/kubernetes/watermark.yaml", path)
    assert with_files(document, {}) == {}
    assert with_files(document, {"files": [1]}) == {"files": [1]}


def test_it_places_nothing_by_itself(
    admin: User, watermark_policy: Policy, api_as: Callable[[str], APIClient], client_as: Callable[[str], Client]
) -> None:
    assert "watermark@1" not in dict(policy_choices())
    assert watermark_policy not in [revision.policy for revision in revisions_to_compare()]
    answer = api_as("editor").post(
        "/api/v1/gates/", {"policy": {"name": "watermark"}, "snapshot": {"cluster": "none"}}, format="json"
    )
    assert 400 <= answer.status_code < 500
    live = {"cluster": "none", "scheduler_name": "x", "policy": "watermark"}
    assert 400 <= api_as("admin").post("/api/v1/live/", live).status_code < 500
    page = client_as("viewer").get("/policies/?policy=watermark")
    assert page.status_code == 200


def test_rest_makes_validates_and_describes_it(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("editor")
    response = api.post("/api/v1/policies/", {"name": "watermark", "document": FILE})
    assert (response.status_code, response.data["kind"]) == (201, "crane")
    bad = {"document": FILE.replace("count: 2", "counts: 2")}
    verdict = api.post("/api/v1/policies/validate/", bad).data
    assert (verdict["kind"], verdict["valid"], verdict["errors"][0]["line"]) == ("crane", False, 19)
    verdict_in_full = api.post("/api/v1/policies/validate/", {"document": FILE}).data
    assert verdict_in_full["defaulted"]["spec"]["syncPolicy"] == [{"name": "cpu_usage_avg_5m", "period": "3m0s"}]
    pointing_verdict = api.post("/api/v1/policies/validate/", {"document": POINTS}).data
    assert pointing_verdict["effective"][0]["args"]["Dynamic"]["policy"]["predicate"][0]["maxLimitPecent"] == 0.65
    files = {"/other/place.yaml": FILE}
    body = {"document": POINTS.replace("kubernetes/watermark", "none"), "process": {"files": files}}
    assert api.post("/api/v1/policies/validate/", body).data["valid"]
    assert "spec" in api.get("/api/v1/policy-schema/", {"kind": "crane"}).data["properties"]


def test_the_pages_edit_it_and_say_what_points_at_it(
    admin: User, watermark_policy: Policy, client_as: Callable[[str], Client]
) -> None:
    client = client_as("editor")
    page = client.get("/policies/watermark/")
    [crane], [article_score] = elements(page, "[data-score]"), elements(page, "[data-told]")
    assert (crane["data-score"], article_score["data-told"]) == ("30", "57")
    view = editor.open_editor(FILE)
    values = form_data(view, **{"spec.hotValue.0.count": "1"})
    assert client.post("/policies/watermark/edit/preview/", values).status_code == 200
    assert client.post("/policies/watermark/", {**values, "save": "1", "expected": "1"}).status_code == 302
    assert "count: 1" in revision_get(watermark_policy).document
    assert client.get("/policies/watermark/effective/").status_code == 200
    changed_heads = elements(client.get("/policies/watermark/diff/?from=1&to=2"), "tbody th")
    assert "hotValue.5m0s.count" in [head.text for head in changed_heads]
    services.policy_create(name="aware", document=POINTS, author=admin)
    services.revision_save(policy=watermark_policy, document=FILE, author=admin, expected=2)
    [files] = elements(client.get("/policies/aware/"), "[data-files]")
    assert "is watermark revision 2; saving uses the newest." in " ".join(files.text.split())
