"""Every problem of a classic policy stands at its line and beside its field; nothing is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.policies import services
from kschedweb.policies.classic import editor
from kschedweb.policies.classic.validation import check_classic
from kschedweb.policies.models import Policy

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

HEAD = "kind: Policy\napiVersion: v1\n"
EXTENDERS = """\
extenders:
  - urlPrefix: http://one
    managedResources: [{name: example.com/gpu}]
  - urlPrefix: http://two
    managedResources:
      - name: example.com/gpu
"""
ARTICLE = (
    '{"kind": "Policy", "apiVersion": "v1",\n "predicate": [\n  {"name": "PodFitsPorts"},\n  {"name": "HostName"}]}'
)


@pytest.mark.parametrize(
    ("document", "line", "message"),
    [
        (f"{HEAD}predicates:\n  - name: HostName\n  - name: Nope\n", 5, "Predicate type not found for Nope"),
        (f"{HEAD}priorities:\n  - name: Nope\n    weight: 1\n", 4, "Priority type not found for Nope"),
        (f"{HEAD}priorities:\n  - name: EqualPriority\n    weight: 0\n", 5, "should have a positive weight"),
        (f"{HEAD}priorities:\n  - name: EqualPriority\n    weight: x\n", 5, "must be a whole number"),
        (f"{HEAD}hardPodAffinitySymmetricWeight: 101\n", 3, "must be in the range 1-100"),
        (f"{HEAD}{EXTENDERS}", 8, "Duplicate extender managed resource name example.com/gpu"),
        (f"{HEAD}predicates: {{}}\n", 3, "must be a list"),
        (f"{HEAD}predicates:\n  - name: X\n    argument: {{}}\n", 5, "Exactly 1 predicate argument is required"),
        ("kind: Policy\napiVersion: v2\n", 2, 'no kind "Policy" is registered for version "v2"'),
        ('{"predicate": [\n {"name": "Nope"}]}', 2, "Predicate type not found for Nope"),
        (
            f"{HEAD}extenders:\n  - URLPREFIX: http://x\n    prioritizeverb: p\n    WEIGHT: 0\n",
            6,
            "should have a positive weight applied to it",
        ),
        ("kind: Policy\npriorities: [\n", 3, "not YAML"),
    ],
)
def test_a_problem_stands_at_its_line(document: str, line: int, message: str) -> None:
    verdict = check_classic(document, {})
    assert not verdict.valid
    assert [problem.line for problem in verdict.errors if message in problem.message] == [line], verdict.errors


def test_the_articles_misspelt_key_is_understood_with_a_warning() -> None:
    checked = check_classic(ARTICLE, {})
    assert checked.valid
    assert next((problem.line, problem.path) for problem in checked.warnings) == (2, "predicate")
    assert checked.algorithm is not None
    assert "HostName" in [predicate.name for predicate in checked.algorithm.predicates]


def test_names_that_are_never_asked_are_warned_about_at_their_line() -> None:
    never_asked = [problem for problem in check_classic(ARTICLE, {}).warnings if "never asked" in problem.message]
    assert [(problem.line, problem.path) for problem in never_asked] == [(3, "predicate[0].name")]
    assert not [
        warning for warning in check_classic(ARTICLE, {"version": "1.9"}).warnings if "never asked" in warning.message
    ]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (f"{HEAD}predicates:\n  - name: Nope\n", "predicates"),
        (f"{HEAD}priorities:\n  - name: Nope\n    weight: 1\n", "priorities"),
    ],
)
def test_an_unknown_name_is_told_in_its_row(document: str, field: str) -> None:
    section = next(section for section in editor.open_editor(document, {}).form.sections if section.key == field)
    assert [row.name for row in section.rows if row.problems] == ["Nope"]


def test_a_weight_out_of_range_is_told_beside_it() -> None:
    document = f"{HEAD}priorities:\n  - name: EqualPriority\n    weight: 922337203685477581\n"
    rows = editor.open_editor(document, {}).form.sections[1].rows
    assert [row.name for row in rows if row.weight and row.weight.problems] == ["EqualPriority"]


def test_points_of_a_shape_are_told_beside_the_cell() -> None:
    shape = "{shape: [{utilization: 50, score: 1}, {utilization: 40, score: 2}]}"
    item = f"- {{name: X, weight: 1, argument: {{requestedToCapacityRatioArguments: {shape}}}}}"
    rows = editor.open_editor(f"{HEAD}priorities:\n  {item}\n", {}).form.sections[1].rows
    cells = next(row for row in rows if row.name == "X").fields
    assert [cell.name for cell in cells if cell.problems] == ["argument.priorities.X.shape.1.utilization"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "extender", ["tlsConfig: {keyData: c2VjcmV0}", "TLSConfig: {KeyData: c2VjcmV0}", "tlsConfig: {KEYDATA: c2VjcmV0}"]
)
def test_private_keys_are_not_kept(extender: str, editor: User) -> None:
    document = f"{HEAD}extenders:\n  - urlPrefix: https://x\n    {extender}\n"
    with pytest.raises(services.InvalidPolicyDocument, match="private key") as caught:
        services.policy_create(name="secret", document=document, author=editor)
    assert caught.value.problems[0].line == 5
    assert "c2VjcmV0" not in str(caught.value.problems)
    assert not Policy.objects.filter(name="secret").exists()


@pytest.mark.django_db
def test_nothing_is_saved_of_what_cannot_run(editor: User) -> None:
    policy = services.policy_create(name="old", document=HEAD, author=editor)
    for document in (f"{HEAD}{EXTENDERS}", f"{HEAD}predicates: [{{name: Nope}}]\n"):
        with pytest.raises(services.InvalidPolicyDocument):
            services.revision_save(policy=policy, document=document, author=editor, expected=1)
    assert policy.revisions.count() == 1


def test_any_input_is_answered() -> None:
    strange: list[Any] = ["", "[]", "null", "1", "kind: Policy\npredicates: [1]\n", "kind: Policy\npriorities: 3\n"]
    for text in (*strange, "kind: Policy\nextenders: [{tlsConfig: 3}]\n", "kind: [Policy]\n"):
        for process in ({}, {"gates": 3}, {"version": 1}, {"maxVolumes": "x"}):
            view = editor.open_editor(text, process)
            assert view.checked.valid == (not view.checked.errors)
