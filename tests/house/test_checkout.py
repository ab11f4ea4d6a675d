"""A clone of the repository is all that its tests, its documents and CI need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT
from tests.support.documents import anchors, links

OUTSIDE_PATH = re.compile(rb"(?<![\w/.])\.\./shared|\bKSCHEDWEB_SHARED\b")
UPWARD = re.compile(r"(?:\.\./)+[\w.-]+")


def list_tracked_files(*patterns: str) -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_the_folder_beside_the_checkout() -> None:
    assert [
        path for path in list_tracked_files() if path != Path(__file__) and OUTSIDE_PATH.search(path.read_bytes())
    ] == []


def test_documents_link_to_what_is_tracked_and_to_its_headings() -> None:
    targets = {path for file in list_tracked_files() for path in (file, *file.parents)}
    missing = [
        f"{document.relative_to(ROOT)}: {target.name}#{anchor}"
        for document in list_tracked_files("*.md")
        for target, anchor in links(document)
        if target not in targets or (anchor and anchor not in anchors(target))
    ]
    assert missing == []


def test_scripts_stay_inside_the_checkout() -> None:
    scripts = [
        path for path in list_tracked_files("*/build", ".ci/run", "Makefile", "*.sh") if path.suffix in ("", ".sh")
    ]
    assert len(scripts) > 5
    outside = [
        f"{script.relative_to(ROOT)}: {path}"
        for script in scripts
        for path in UPWARD.findall(script.read_text(encoding="utf-8"))
        if not (script.parent / path).resolve().is_relative_to(ROOT)
    ]
    assert outside == []
