"""Documents of kind Karpenter as policies: read, refused at the right place, edited and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.policies import services
from kschedweb.policies.dialects import KARPENTER, check_either
from kschedweb.policies.karpenter import editor
from kschedweb.policies.models import Policy
from kschedweb.policies.selectors import revision_get
from tests.support.html import text
from tests.support.seed_karpenter import DOCUMENT

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

POOL = "- apiVersion: karpenter.sh/v1\n    kind: NodePool\n    metadata:\n      name: general\n"
INSTANCE_TYPES = """instanceTypes:
  - name: small
    capacity: {cpu: "2", memory: 4Gi}
    offerings: [{zone: a, capacityType: on-demand, price: 0.1}]"""


def test_it_is_known_by_its_kind_and_says_that_ready_prices_are_invented() -> None:
    checked = check_either(DOCUMENT)
    assert (checked.kind, checked.valid, checked.errors) == ("karpenter", True, [])
    [warning] = checked.warnings
    assert ("invented" in warning.message, warning.line) == (True, 4)
    assert check_either(DOCUMENT.replace("instanceTypes: ready", INSTANCE_TYPES)).warnings == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n", 6, "must be karpenter.sh/v1, is 'karpenter.sh/v1beta1'"),
        ("kind: NodePool", "kind: NodeClass", 7, "must be NodePool"),
        ("WhenEmptyOrUnderutilized", "Always", 14, "must be one of WhenEmpty, WhenEmptyOrUnderutilized, Balanced"),
        ("20%", "200%", 17, "must be a number, or a percentage of at most 100%"),
        ("instanceTypes: ready", "instanceTypes: []", 4, "must not be empty"),
        ("instanceTypes: ready", INSTANCE_TYPES.replace("0.1", "-0.1"), 7, "must be a finite number of at least 0"),
        ("instanceTypes: ready", INSTANCE_TYPES.replace("[{zone: a, capacityType: on-demand, price: 0.1}]", "[]"), 7,
         "is empty"),
        ("instanceTypes: ready", f"{INSTANCE_TYPES}\n    nodePools: [other, general]", 8,
         "there is no NodePool 'other'"),
        ("values: [on-demand]", "values: [on-demand]\n            - {key: karpenter.sh/capacity-type, "
         "operator: In, values: [spot]}", 25, "rule each other out"),
        (POOL, POOL + "    spec: {}\n  " + POOL, 14, "is there twice"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_at_its_line(old: str, new: str, line: int, message: str) -> None:
    problems = check_either(DOCUMENT.replace(old, new)).errors
    assert [(problem.line, message in problem.message) for problem in problems] == [(line, True)], problems


def test_a_nodepool_of_another_version_alone_is_told_which_version_is_read() -> None:
    checked = check_either("apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: default}\n")
    assert (checked.kind, checked.valid) == ("karpenter", False)
    assert any("apiVersion: must be karpenter.sh/v1" in problem.message for problem in checked.errors)


def test_a_nodepool_that_can_bring_no_node_is_a_warning_in_karpenters_words() -> None:
    checked = check_either(
        DOCUMENT.replace("[on-demand]", "[reserved]").replace("instanceTypes: ready", INSTANCE_TYPES)
    )
    [warning] = checked.warnings
    assert "NodePool requirements filtered out all compatible available instance types" in warning.message


def form_data(view: editor.KarpenterEditor, **changes: str) -> dict[str, str]:
    cells = [field for top in view.fields for field in top.walk() if field.kind not in ("group", "table")]
    values = {cell.name: cell.value for cell in cells} | changes
    return {"document": view.document, "base": view.base, **values}


def test_an_untouched_form_changes_nothing() -> None:
    assert editor.read_posted(form_data(editor.open_editor(DOCUMENT))).document == DOCUMENT


def test_the_form_changes_what_it_shows_and_leaves_the_rest_of_the_text() -> None:
    view = editor.open_editor(DOCUMENT)
    edited_view = editor.read_posted(
        form_data(
            view,
            **{
                "pool.0.spec.weight": "10",
                "pool.0.spec.disruption.consolidateAfter": "Never",
                "pool.0.spec.disruption.budgets.0.nodes": "5",
                "pool.0.requirements": "- {key: kubernetes.io/arch, operator: In, values: [arm64]}\n",
            },
        )
    )
    assert edited_view.document.startswith("# Ours.\n")
    assert "cpu: 100 # enough" in edited_view.document
    spec = parse_document(edited_view.document).data["nodePools"][0]["spec"]
    assert (spec["weight"], spec["disruption"]["consolidateAfter"]) == (10, "Never")
    assert spec["disruption"]["budgets"] == [{"nodes": "5", "reasons": ["Underutilized"]}]
    assert spec["template"]["spec"]["requirements"][0]["values"] == ["arm64"]


def test_nodepools_are_added_and_removed() -> None:
    two = editor.read_posted(form_data(editor.open_editor(DOCUMENT), add_item="1"))
    assert (two.problems, {launch.name for launch in two.launches}) == ([], {"general", "nodepool-1"})
    assert editor.read_posted(form_data(two, remove_item="1")).document == DOCUMENT
    remaining = editor.read_posted(form_data(two, remove_item="0", **{"pool.1.spec.weight": "7"}))
    assert [(launch.name, launch.weight) for launch in remaining.launches] == [("nodepool-1", 7)]


def test_a_wrong_value_stands_at_its_field() -> None:
    edited_view = editor.read_posted(
        form_data(editor.open_editor(DOCUMENT), **{"pool.0.spec.disruption.consolidateAfter": "soon"})
    )
    [cell] = [field for top in edited_view.fields for field in top.walk() if field.problems]
    assert (cell.name, cell.value) == ("pool.0.spec.disruption.consolidateAfter", "soon")


def test_its_revisions_differ_by_nodepool_and_requirement() -> None:
    changed_document = DOCUMENT.replace("1m", "5m").replace("[on-demand]", "[spot]")
    changes = KARPENTER.changes(KARPENTER.check(DOCUMENT, {}), KARPENTER.check(changed_document, {}))
    assert [(change.subject.removeprefix("nodePools.general."), change.before, change.after) for change in changes] == [
        ("disruption.consolidateAfter", "1m", "5m"),
        ("template.spec.requirements.karpenter.sh/capacity-type In.values", '["on-demand"]', '["spot"]'),
    ]
    assert KARPENTER.list_deviations(KARPENTER.check(KARPENTER.defaults, {})) == []


@pytest.fixture
def stored_policy(admin: User) -> Policy:
    return services.policy_create(name="nodepools", document=DOCUMENT, author=admin)


def test_rest_makes_validates_and_describes_it(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("editor")
    response = api.post("/api/v1/policies/", {"name": "nodepools", "document": DOCUMENT})
    assert (response.status_code, response.data["kind"]) == (201, "karpenter")
    rejection = api.post("/api/v1/policies/", {"name": "other", "document": DOCUMENT.replace("20%", "x")})
    assert (rejection.status_code, rejection.data["detail"]) == (422, "Karpenter could not work with this document.")
    verdict = api.post("/api/v1/policies/validate/", {"document": DOCUMENT}).data
    assert (verdict["kind"], verdict["defaulted"]["instanceTypes"]) == ("karpenter", "ready")
    assert "nodePools" in api.get("/api/v1/policy-schema/", {"kind": "karpenter"}).data["properties"]


def test_the_pages_edit_it(stored_policy: Policy, client_as: Callable[[str], Client]) -> None:
    assert "nodepools@1" not in dict(policy_choices())
    client = client_as("editor")
    page = client.get("/policies/nodepools/")
    assert "general" in text(page)
    assert 'name="pool.0.spec.disruption.consolidationPolicy"' in page.content.decode()
    values = form_data(editor.open_editor(DOCUMENT), **{"pool.0.spec.disruption.consolidationPolicy": "WhenEmpty"})
    assert client.post("/policies/nodepools/edit/preview/", values).status_code == 200
    assert client.post("/policies/nodepools/", {**values, "save": "1", "expected": "1"}).status_code == 302
    assert "consolidationPolicy: WhenEmpty\n" in revision_get(stored_policy).document
    assert client.get("/policies/nodepools/effective/").status_code == 200
    assert "consolidationPolicy" in text(client.get("/policies/nodepools/diff/?from=1&to=2"))
