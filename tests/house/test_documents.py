"""What the documents promise is so."""

from __future__ import annotations

import re

import yaml

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
