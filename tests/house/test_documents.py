"""What the documents promise is so."""

from __future__ import annotations

import re

import pytest
import yaml

from kschedweb.clusters.annotating import KINDS as ANNOTATED
from kschedweb.clusters.kinds import KINDS
from kschedweb.engine.annotations import NODE_GRAINS, WORKLOAD_GRAINS, Grain, Use
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


@pytest.mark.parametrize(("of", "grains"), [("node", NODE_GRAINS), ("workload", WORKLOAD_GRAINS)])
def test_annotations_in_the_documents_are_as_they_are_written(of: str, grains: dict[str, Grain]) -> None:
    page = (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")
    (written,) = re.findall(rf"<!-- {of} -->\n```json\n(.*)\n```", page)
    assert Use.read(written).rounded(grains).text() == written


def test_every_finding_of_the_linter_is_in_the_documents() -> None:
    page = (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "kschedweb" / "engine" / "lint").glob("*.py")]
    codes = {code for source in sources for code in re.findall(r'Finding\("([-a-z]+)"', source)}
    assert len(codes) > 10
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []


def test_relative_links_lead_somewhere() -> None:
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/engine.md",
        "docs/annotations.md",
    ):
        page = ROOT / name
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{name} links to {target}"
