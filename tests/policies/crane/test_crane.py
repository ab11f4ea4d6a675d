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
    ("old", "new", "line", "said"),
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
def test_what_crane_refuses_is_told_in_its_words_at_its_line(old: str, new: str, line: int, said: str) -> None:
    [problem] = check_either(FILE.replace(old, new)).errors
    assert (said in problem.message, problem.line) == (True, line), problem


def test_what_has_no_effect_is_a_warning_at_its_line() -> None:
    [warning] = check_either(FILE.replace("name: cpu_usage_avg_5m\n      weight", "name: other\n      weight")).warnings
    assert 'spec.priority[0]: "other" has no syncPolicy, so it scores 0 everywhere' in warning.message
    assert warning.line == 13


def posted(shown: editor.CraneEditor, **changes: str) -> dict[str, str]:
    cells = [one for top in shown.fields for one in top.walk() if one.kind not in ("group", "table")]
    sent = {one.name: one.value for one in cells} | changes
    return {"document": shown.document, "base": shown.base, **sent}


def test_an_untouched_form_changes_nothing() -> None:
    assert editor.read_posted(posted(editor.open_editor(FILE))).document == FILE


def test_the_form_edits_all_four_lists_and_leaves_the_rest_of_the_text() -> None:
    shown = editor.open_editor(FILE)
    edited = editor.read_posted(
        posted(
            shown,
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
    assert edited.document.startswith("# Ours.\n")
    assert "maxLimitPecent: 0.8 # crane spells it so" in edited.document
    assert parse_document(edited.document).data["spec"] == {
        "syncPolicy": [{"name": "cpu_usage_avg_5m", "period": "5m"}],
        "predicate": [{"name": "cpu_usage_avg_5m", "maxLimitPecent": 0.8}],
        "priority": [{"name": "cpu_usage_avg_5m", "weight": 0.2}, {"name": "mem_usage_avg_5m", "weight": 0.5}],
        "hotValue": [{"timeRange": "5m", "count": 5}],
    }


def test_a_wrong_value_stands_at_its_cell() -> None:
    edited = editor.read_posted(posted(editor.open_editor(FILE), **{"spec.hotValue.0.count": "0"}))
    [cell] = [one for top in edited.fields for one in top.walk() if one.problems]
    assert (cell.name, cell.value) == ("spec.hotValue.0.count", "0")


def test_the_example_tells_cranes_factor_and_the_articles_point() -> None:
    policy = load_policy_file(FILE).policy
    assert policy is not None
    shown = compute_example(policy)
    # 5 pods: 1 for five within 5 minutes, 2 for each two within a minute.
    assert (shown.base, shown.heat, shown.factor, shown.score, shown.as_told) == (60, 3, 10, 30, 57)
    assert [(one.window, one.points) for one in shown.rules] == [("5m0s", 1), ("1m0s", 2)]
    assert [(one.valid, one.limit, one.share) for one in shown.metrics] == [("8m0s", "65 %", "100 %")]


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
    shown = compute_example(policy)
    assert 0 <= shown.score <= 100
    if sum(weight for _, weight in weights):
        assert shown.score == max(0, shown.base - 10 * shown.heat)


def test_its_revisions_differ_by_rule() -> None:
    changed = FILE.replace("0.65", "0.7").replace("    - timeRange: 1m\n      count: 2\n", "")
    found = CRANE.changes(CRANE.check(FILE, {}), CRANE.check(changed, {}))
    assert [(one.what, one.before, one.after) for one in found] == [
        ("predicate.cpu_usage_avg_5m.maxLimitPecent", "0.65", "0.7"),
        ("hotValue.1m0s", '{"count": 2}', ""),
    ]
    assert CRANE.list_deviations(CRANE.check(CRANE.defaults, {})) == []


@pytest.fixture
def stored(admin: User) -> Policy:
    return services.policy_create(name="watermark", document=FILE, author=admin)


def dynamic(revision: Revision) -> dict[str, Any]:
    found: dict[str, Any] = load_configuration(revision).profiles[0].args["Dynamic"]["policy"]
    return found


def test_a_policy_takes_the_document_of_its_files_name_and_keeps_it(admin: User, stored: Policy) -> None:
    policy = services.policy_create(name="aware", document=POINTS, author=admin)
    first = revision_get(policy)
    assert first.process["files"] == {"/etc/kubernetes/watermark.yaml": FILE}
    assert dynamic(first)["priority"] == [{"name": "cpu_usage_avg_5m", "weight": 0.2}]
    services.revision_save(policy=stored, document=FILE.replace("0.2", "0.9"), author=admin, expected=1)
    assert dynamic(revision_get(policy, 1))["priority"][0]["weight"] == 0.2
    second = services.revision_save(policy=policy, document=POINTS, author=admin, expected=1)
    assert (second.number, dynamic(revision_get(policy))["priority"][0]["weight"]) == (2, 0.9)
    third = services.revision_restore(policy=policy, number=1, author=admin, expected=2)
    assert (third.number, dynamic(revision_get(policy))["priority"][0]["weight"]) == (3, 0.2)


def test_a_path_without_a_document_leaves_the_shipped_policy_and_says_so(admin: User) -> None:
    policy = services.policy_create(name="aware", document=POINTS, author=admin)
    revision = revision_get(policy)
    assert "files" not in revision.process
    assert dynamic(revision)["hotValue"] == SAMPLE_POLICY["hotValue"]
    [warning] = [one for one in revision.checked().warnings if "policyConfigPath" in one.path]
    assert '"/etc/kubernetes/watermark.yaml" is not known here' in warning.message


@pytest.mark.parametrize("path", ['"/\\0/watermark.yaml"', "/etc/Water Mark.yaml", '""', "3", "/"])
def test_a_path_that_names_nothing_stored_takes_nothing(stored: Policy, path: str) -> None:
    document = POINTS.replace("/etc/kubernetes/watermark.yaml", path)
    assert with_files(document, {}) == {}
    assert with_files(document, {"files": [1]}) == {"files": [1]}


def test_it_places_nothing_by_itself(
    admin: User, stored: Policy, api_as: Callable[[str], APIClient], client_as: Callable[[str], Client]
) -> None:
    assert "watermark@1" not in dict(policy_choices())
    assert stored not in [one.policy for one in revisions_to_compare()]
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
    made = api.post("/api/v1/policies/", {"name": "watermark", "document": FILE})
    assert (made.status_code, made.data["kind"]) == (201, "crane")
    bad = {"document": FILE.replace("count: 2", "counts: 2")}
    verdict = api.post("/api/v1/policies/validate/", bad).data
    assert (verdict["kind"], verdict["valid"], verdict["errors"][0]["line"]) == ("crane", False, 19)
    whole = api.post("/api/v1/policies/validate/", {"document": FILE}).data
    assert whole["defaulted"]["spec"]["syncPolicy"] == [{"name": "cpu_usage_avg_5m", "period": "3m0s"}]
    pointed = api.post("/api/v1/policies/validate/", {"document": POINTS}).data
    assert pointed["effective"][0]["args"]["Dynamic"]["policy"]["predicate"][0]["maxLimitPecent"] == 0.65
    passed = {"/other/place.yaml": FILE}
    given = {"document": POINTS.replace("kubernetes/watermark", "none"), "process": {"files": passed}}
    assert api.post("/api/v1/policies/validate/", given).data["valid"]
    assert "spec" in api.get("/api/v1/policy-schema/", {"kind": "crane"}).data["properties"]


def test_the_pages_edit_it_and_say_what_points_at_it(
    admin: User, stored: Policy, client_as: Callable[[str], Client]
) -> None:
    client = client_as("editor")
    page = client.get("/policies/watermark/")
    [crane], [told] = elements(page, "[data-score]"), elements(page, "[data-told]")
    assert (crane["data-score"], told["data-told"]) == ("30", "57")
    shown = editor.open_editor(FILE)
    sent = posted(shown, **{"spec.hotValue.0.count": "1"})
    assert client.post("/policies/watermark/edit/preview/", sent).status_code == 200
    assert client.post("/policies/watermark/", {**sent, "save": "1", "expected": "1"}).status_code == 302
    assert "count: 1" in revision_get(stored).document
    assert client.get("/policies/watermark/effective/").status_code == 200
    changed = elements(client.get("/policies/watermark/diff/?from=1&to=2"), "tbody th")
    assert "hotValue.5m0s.count" in [head.text for head in changed]
    services.policy_create(name="aware", document=POINTS, author=admin)
    services.revision_save(policy=stored, document=FILE, author=admin, expected=2)
    [files] = elements(client.get("/policies/aware/"), "[data-files]")
    assert "is watermark revision 2; saving uses the newest." in " ".join(files.text.split())
