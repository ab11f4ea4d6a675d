"""What the documents promise is so."""

from __future__ import annotations

import re

import yaml

from kschedweb.clusters.annotating import KINDS as ANNOTATED
from kschedweb.clusters.kinds import KINDS
from tests.conftest import ROOT


def test_rbac_file_allows_exactly_what_is_read() -> None:
    documents = list(yaml.safe_load_all((ROOT / "docs" / "rbac.yaml").read_text(encoding="utf-8")))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    allowed = {
        (group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert allowed == {(kind.group, kind.resource) for kind in KINDS}
    assert all(rule["verbs"] == ["list", "watch"] for rule in role["rules"])


def test_rbac_file_of_annotations_allows_to_patch_what_is_annotated_and_nothing_else() -> None:
    documents = list(yaml.safe_load_all((ROOT / "docs" / "rbac-annotations.yaml").read_text(encoding="utf-8")))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    rules = [(rule["apiGroups"][0], tuple(rule["resources"]), tuple(rule["verbs"])) for rule in role["rules"]]
    patched = {(group, name) for group, names, verbs in rules for name in names if verbs == ("patch",)}
    assert patched == {(kind.group, kind.resource) for kind in ANNOTATED}
    assert [rule for rule in rules if rule[2] != ("patch",)] == [("", ("events",), ("list",))]


def test_relative_links_lead_somewhere() -> None:
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/engine.md",
    ):
        page = ROOT / name
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name} links to {target}"
