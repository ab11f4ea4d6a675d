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
OWN = """instanceTypes:
  - name: small
    capacity: {cpu: "2", memory: 4Gi}
    offerings: [{zone: a, capacityType: on-demand, price: 0.1}]"""


def test_it_is_known_by_its_kind_and_says_that_ready_prices_are_invented() -> None:
    checked = check_either(DOCUMENT)
    assert (checked.kind, checked.valid, checked.errors) == ("karpenter", True, [])
    [warning] = checked.warnings
    assert ("invented" in warning.message, warning.line) == (True, 4)
    assert check_either(DOCUMENT.replace("instanceTypes: ready", OWN)).warnings == []


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n", 6, "must be karpenter.sh/v1, is 'karpenter.sh/v1beta1'"),
        ("kind: NodePool", "kind: NodeClass", 7, "must be NodePool"),
        ("WhenEmptyOrUnderutilized", "Always", 14, "must be one of WhenEmpty, WhenEmptyOrUnderutilized, Balanced"),
        ("20%", "200%", 17, "must be a number, or a percentage of at most 100%"),
        ("instanceTypes: ready", "instanceTypes: []", 4, "must not be empty"),
        ("instanceTypes: ready", OWN.replace("0.1", "-0.1"), 7, "must be a finite number of at least 0"),
        ("instanceTypes: ready", OWN.replace("[{zone: a, capacityType: on-demand, price: 0.1}]", "[]"), 7, "is empty"),
        ("instanceTypes: ready", f"{OWN}\n    nodePools: [other, general]", 8, "there is no NodePool 'other'"),
        ("values: [on-demand]", "values: [on-demand]\n            - {key: karpenter.sh/capacity-type, "
         "operator: In, values: [spot]}", 25, "rule each other out"),
        (POOL, POOL + "    spec: {}\n  " + POOL, 14, "is there twice"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_at_its_line(old: str, new: str, line: int, said: str) -> None:
    problems = check_either(DOCUMENT.replace(old, new)).errors
    assert [(one.line, said in one.message) for one in problems] == [(line, True)], problems


def test_a_nodepool_of_another_version_alone_is_told_which_version_is_read() -> None:
    checked = check_either("apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: default}\n")
    assert (checked.kind, checked.valid) == ("karpenter", False)
    assert any("apiVersion: must be karpenter.sh/v1" in problem.message for problem in checked.errors)


def test_a_nodepool_that_can_bring_no_node_is_a_warning_in_karpenters_words() -> None:
    checked = check_either(DOCUMENT.replace("[on-demand]", "[reserved]").replace("instanceTypes: ready", OWN))
    [warning] = checked.warnings
    assert "NodePool requirements filtered out all compatible available instance types" in warning.message


def posted(shown: editor.KarpenterEditor, **changes: str) -> dict[str, str]:
    cells = [one for top in shown.fields for one in top.walk() if one.kind not in ("group", "table")]
    sent = {one.name: one.value for one in cells} | changes
    return {"document": shown.document, "base": shown.base, **sent}


def test_an_untouched_form_changes_nothing() -> None:
    assert editor.read_posted(posted(editor.open_editor(DOCUMENT))).document == DOCUMENT


def test_the_form_changes_what_it_shows_and_leaves_the_rest_of_the_text() -> None:
    shown = editor.open_editor(DOCUMENT)
    edited = editor.read_posted(
        posted(
            shown,
            **{
                "pool.0.spec.weight": "10",
                "pool.0.spec.disruption.consolidateAfter": "Never",
                "pool.0.spec.disruption.budgets.0.nodes": "5",
                "pool.0.requirements": "- {key: kubernetes.io/arch, operator: In, values: [arm64]}\n",
            },
        )
    )
    assert edited.document.startswith("# Ours.\n")
    assert "cpu: 100 # enough" in edited.document
    spec = parse_document(edited.document).data["nodePools"][0]["spec"]
    assert (spec["weight"], spec["disruption"]["consolidateAfter"]) == (10, "Never")
    assert spec["disruption"]["budgets"] == [{"nodes": "5", "reasons": ["Underutilized"]}]
    assert spec["template"]["spec"]["requirements"][0]["values"] == ["arm64"]


def test_nodepools_are_added_and_removed() -> None:
    two = editor.read_posted(posted(editor.open_editor(DOCUMENT), add_item="1"))
    assert (two.problems, {one.name for one in two.launches}) == ([], {"general", "nodepool-1"})
    assert editor.read_posted(posted(two, remove_item="1")).document == DOCUMENT
    other = editor.read_posted(posted(two, remove_item="0", **{"pool.1.spec.weight": "7"}))
    assert [(one.name, one.weight) for one in other.launches] == [("nodepool-1", 7)]


def test_a_wrong_value_stands_at_its_field() -> None:
    edited = editor.read_posted(
        posted(editor.open_editor(DOCUMENT), **{"pool.0.spec.disruption.consolidateAfter": "soon"})
    )
    [cell] = [one for top in edited.fields for one in top.walk() if one.problems]
    assert (cell.name, cell.value) == ("pool.0.spec.disruption.consolidateAfter", "soon")


def test_its_revisions_differ_by_nodepool_and_requirement() -> None:
    changed = DOCUMENT.replace("1m", "5m").replace("[on-demand]", "[spot]")
    found = KARPENTER.changes(KARPENTER.check(DOCUMENT, {}), KARPENTER.check(changed, {}))
    assert [(one.what.removeprefix("nodePools.general."), one.before, one.after) for one in found] == [
        ("disruption.consolidateAfter", "1m", "5m"),
        ("template.spec.requirements.karpenter.sh/capacity-type In.values", '["on-demand"]', '["spot"]'),
    ]
    assert KARPENTER.list_deviations(KARPENTER.check(KARPENTER.defaults, {})) == []


@pytest.fixture
def stored(admin: User) -> Policy:
    return services.policy_create(name="nodepools", document=DOCUMENT, author=admin)


def test_rest_makes_validates_and_describes_it(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("editor")
    made = api.post("/api/v1/policies/", {"name": "nodepools", "document": DOCUMENT})
    assert (made.status_code, made.data["kind"]) == (201, "karpenter")
    refused = api.post("/api/v1/policies/", {"name": "other", "document": DOCUMENT.replace("20%", "x")})
    assert (refused.status_code, refused.data["detail"]) == (422, "Karpenter could not work with this document.")
    whole = api.post("/api/v1/policies/validate/", {"document": DOCUMENT}).data
    assert (whole["kind"], whole["defaulted"]["instanceTypes"]) == ("karpenter", "ready")
    assert "nodePools" in api.get("/api/v1/policy-schema/", {"kind": "karpenter"}).data["properties"]


def test_the_pages_edit_it(stored: Policy, client_as: Callable[[str], Client]) -> None:
    assert "nodepools@1" not in dict(policy_choices())
    client = client_as("editor")
    page = client.get("/policies/nodepools/")
    assert "general" in text(page)
    assert 'name="pool.0.spec.disruption.consolidationPolicy"' in page.content.decode()
    sent = posted(editor.open_editor(DOCUMENT), **{"pool.0.spec.disruption.consolidationPolicy": "WhenEmpty"})
    assert client.post("/policies/nodepools/edit/preview/", sent).status_code == 200
    assert client.post("/policies/nodepools/", {**sent, "save": "1", "expected": "1"}).status_code == 302
    assert "consolidationPolicy: WhenEmpty\n" in revision_get(stored).document
    assert client.get("/policies/nodepools/effective/").status_code == 200
    assert "consolidationPolicy" in text(client.get("/policies/nodepools/diff/?from=1&to=2"))
