"""Documents keep their promises."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from kschedweb.clusters import demo
from kschedweb.clusters.annotation_writes import KINDS as ANNOTATED
from kschedweb.clusters.kinds import EVENT, KINDS
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.state.watermarks.annotations import NODE_GRAINS, WORKLOAD_GRAINS, AnnotatedUse, Grain
from kschedweb.watermarks.figures import FIGURES
from kschedweb.watermarks.metrics import PATHS as METRICS_PATHS
from kschedweb.watermarks.models import WatermarkSource
from kschedweb.watermarks.presets import PRESETS
from kschedweb.web import navigation
from tests.conftest import ROOT
from tests.support import screenshots
from tests.support.apng import read_chunks
from tests.support.documents import DOCS, links


def test_rbac_file_allows_exactly_what_is_read() -> None:
    documents = list(yaml.safe_load_all((ROOT / "docs" / "rbac.yaml").read_text(encoding="utf-8")))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    allowed = {
        (group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert allowed == {(kind.group, kind.resource) for kind in (*KINDS, EVENT)}
    assert all(rule["verbs"] == ["list", "watch"] for rule in role["rules"])


def test_rbac_file_of_annotations_allows_to_patch_what_is_annotated_and_nothing_else() -> None:
    documents = list(yaml.safe_load_all((ROOT / "docs" / "rbac-annotations.yaml").read_text(encoding="utf-8")))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    rules = [(rule["apiGroups"][0], tuple(rule["resources"]), tuple(rule["verbs"])) for rule in role["rules"]]
    patchable = {(group, name) for group, names, verbs in rules for name in names if verbs == ("patch",)}
    assert patchable == {(kind.group, kind.resource) for kind in ANNOTATED}
    assert [rule for rule in rules if rule[2] != ("patch",)] == [("", ("events",), ("list",))]


def test_rbac_file_of_metrics_allows_to_list_what_is_asked_for() -> None:
    documents = list(yaml.safe_load_all((ROOT / "docs" / "rbac-metrics.yaml").read_text(encoding="utf-8")))
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    (rule,) = role["rules"]
    assert rule["verbs"] == ["list"]
    group = rule["apiGroups"][0]
    assert {f"/apis/{group}/v1beta1/{name}" for name in rule["resources"]} == set(METRICS_PATHS.values())


def test_the_document_of_watermarks_names_every_preset_figure_and_default() -> None:
    page = (ROOT / "docs" / "watermarks.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PRESETS)
    assert all(f"`{figure.statistic}`" in page for figure in FIGURES)
    source = WatermarkSource()
    assert f"| {source.keep_hours} hours | 2 to 168 hours |" in page
    assert f"| {source.keep_days} days | 2 to 60 days |" in page
    assert f"| {source.keep_long_days} days | 2 to 730 days |" in page


@pytest.mark.parametrize(("kind", "grains"), [("node", NODE_GRAINS), ("workload", WORKLOAD_GRAINS)])
def test_annotations_in_the_documents_are_as_they_are_written(kind: str, grains: dict[str, Grain]) -> None:
    page = (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")
    (documented,) = re.findall(rf"<!-- {kind} -->\n```json\n(.*)\n```", page)
    assert AnnotatedUse.from_json(documented).round_figures(grains).to_json() == documented


def test_every_finding_of_the_linter_is_in_the_documents() -> None:
    page = (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")
    modules = (ROOT / "kschedweb" / "engine" / "state" / "watermarks" / "lint").glob("*.py")
    sources = [path.read_text(encoding="utf-8") for path in modules]
    codes = {code for source in sources for code in re.findall(r'Finding\("([-a-z]+)"', source)}
    assert len(codes) > 10
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []


def test_readme_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_every_document_is_in_the_index() -> None:
    index = {target for target, _ in links(DOCS / "README.md")}
    assert sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md" and path not in index) == []


COUNT_PATTERN = re.compile(r"(\d[\d,]*) (nodes|pods|are pending)|(\w+) zones")
ZONES = {"two": 2, "three": 3, "four": 4}


@pytest.mark.parametrize("name", ["README.md", "docs/tour.md"])
def test_what_is_counted_in_the_demo_is_what_it_has(name: str) -> None:
    """In the sentences that begin with the demo."""
    objects = demo.generate_cluster()
    nodes = [item for item in objects if item["kind"] == "Node"]
    pods = [item for item in objects if item["kind"] == "Pod"]
    has = {
        "nodes": len(nodes),
        "pods": len(pods),
        "are pending": sum(not pod["spec"].get("nodeName") for pod in pods),
        "zones": len({node["metadata"]["labels"][ZONE] for node in nodes}),
    }
    text = (ROOT / name).read_text(encoding="utf-8")
    (sentence,) = re.findall(r"comes with (?:a demo cluster:|two clusters: the demo,) ([^;\n]+)", text)
    matches = COUNT_PATTERN.findall(sentence)
    documented_counts = {kind: int(number.replace(",", "")) for number, kind, _ in matches if kind}
    documented_counts |= dict([("zones", ZONES[word]) for _, _, word in matches if word])
    assert documented_counts.items() <= has.items()
    assert {"nodes", "pods"} <= documented_counts.keys()


def test_every_picture_is_made_by_a_script_and_shown() -> None:
    pictures = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.png")}
    assert pictures == {f"docs/{name}.png" for name in (*screenshots.PICTURES, screenshots.ANIMATION)}
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown_pictures = {
        (path.parent / target).resolve().relative_to(ROOT).as_posix()
        for path in documents
        for target in re.findall(r"!\[[^]]+\]\(([^)]+\.png)\)", path.read_text(encoding="utf-8"))
    }
    assert shown_pictures == pictures


def test_animation_shows_each_step_of_the_walk() -> None:
    chunks = list(read_chunks((DOCS / f"{screenshots.ANIMATION}.png").read_bytes()))
    kinds = [kind for kind, _ in chunks]
    assert kinds.count(b"fcTL") == len(screenshots.WALK)
    numbers = [int.from_bytes(content[:4]) for kind, content in chunks if kind in (b"fcTL", b"fdAT")]
    assert numbers == list(range(len(numbers)))


def test_pictures_show_the_rail_of_today() -> None:
    visit = navigation.Visit(lambda action: True)
    entries = {group: navigation.list_entries(group, visit) for group in navigation.RAIL}
    rail = [str(label) for group, pages in entries.items() for label in (group, *(page["label"] for page in pages))]
    manifest = json.loads(screenshots.MANIFEST.read_text(encoding="utf-8"))
    assert manifest == {"rail": rail, "sha256": screenshots.checksums()}, "run make screenshots"
