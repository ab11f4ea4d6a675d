"""Writes the table of feature gates, kschedweb/engine/releases/gates.tsv, from the sources of the releases.

    python -m tests.conformance.make_gates MODULES 1.34.4 1.35.4 1.36.3 1.37.2 1.38.0-beta.0

``MODULES`` is the folder of Go's module cache that holds k8s.io/kubernetes@v1.34.4 and what belongs to it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TABLE = Path(__file__).parents[2] / "kschedweb" / "engine" / "releases" / "gates.tsv"
# Where the gates stand that kube-scheduler's --feature-gates knows; constants of these packages name them.
SOURCES = (
    "kubernetes@v1.{0}/pkg/features/kube_features.go",
    "apiserver@v0.{0}/pkg/features/kube_features.go",
    "apiextensions-apiserver@v0.{0}/pkg/features/kube_features.go",
    "client-go@v0.{0}/features/known_features.go",
    "component-base@v0.{0}/logs/api/v1/kube_features.go",
    "component-base@v0.{0}/metrics/features/kube_features.go",
    "component-base@v0.{0}/zpages/features/kube_features.go",
)
CONSTANT = re.compile(r"^\s*(\w+)\s+(?:featuregate\.)?Feature\s*=\s*\"(\w+)\"", re.M)
ENTRY = re.compile(r"^(\t+)(?:\w+\.)?(\w+):\s*\{\n((?:\1\t.*\n)*?)\1\},", re.M)
STAGES = re.compile(r"\{(?:Version: version\.MustParse\(\"(\d+)\.(\d+)\"\))?(.*?)\}")
FEATURE_USE = re.compile(r"\bfeatures\.(\w+)")
NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{((?:\w+\.)?\w+(?:,\s*(?:\w+\.)?\w+)*)\},(?: //.*)?$", re.M)


def gates(modules: Path, version: str) -> dict[str, str]:
    """Each gate of a release as a cell of the table: its state, and after it the gates that it needs."""
    major, minor = map(int, version.split(".")[:2])
    texts = [(modules / source.format(version.partition(".")[2])).read_text() for source in SOURCES]
    names = {match[1]: match[2] for text in texts for match in CONSTANT.finditer(text)}
    cells: dict[str, str] = {}
    for text in texts:
        for _, name, body in ENTRY.findall(text):
            states = [state for since in STAGES.findall(body) if (state := _read_entry(since, (major, minor)))]
            if states:
                cells.setdefault(names.get(name, name), states[-1])
    needs = {names.get(name, name): gate_list for text in texts for name, gate_list in NEEDS.findall(text)}
    return {
        name: " ".join(
            [state, *sorted(names.get(needed, needed) for needed in re.findall(r"(\w+)(?:,|$)", needs.get(name, "")))]
        )
        for name, state in cells.items()
    }


def scheduler_gates(modules: Path, version: str) -> set[str]:
    """The gates that the scheduler's own code asks."""
    scheduler = modules / f"kubernetes@v{version}" / "pkg" / "scheduler"
    files = [path for path in scheduler.rglob("*.go") if not path.name.endswith("_test.go")]
    return {name for path in files for name in FEATURE_USE.findall(path.read_text())}


def _read_entry(entry: tuple[str, str, str], release: tuple[int, int]) -> str:
    """Render one entry of a gate as a cell; "" if it is not for this release yet.

    Nor is one for a process that needs not be compatible with the release before: without a flag it is.
    """
    major, minor, body = entry
    stage = re.search(r"PreRelease: (?:\w+\.)?(\w+)", body)
    if stage is None or "MinCompatibilityVersion" in body or (major and (int(major), int(minor)) > release):
        return ""
    state = "+" if "Default: true" in body else "-"
    return stage[1].lower() + state + ("L" if "LockToDefault: true" in body else "")


def table(modules: Path, versions: list[str]) -> str:
    """The table: a line a gate with its state in each release, and whether the scheduler asks it."""
    releases = [gates(modules, version) for version in versions]
    scheduler = set().union(*(scheduler_gates(modules, version) for version in versions))
    lines = [["gate", *(".".join(version.split(".")[:2]) for version in versions), "scheduler"]]
    for name in sorted(set().union(*releases)):
        lines.append([name, *(cells.get(name, "") for cells in releases), "asks" if name in scheduler else ""])
    return "".join("\t".join(line) + "\n" for line in lines)


if __name__ == "__main__":
    TABLE.write_text(table(Path(sys.argv[1]), sys.argv[2:]), encoding="utf-8")
