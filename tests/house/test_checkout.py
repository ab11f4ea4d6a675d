"""A clone of the repository is all that its tests, its documents and CI need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT

BESIDE = re.compile(rb"(?<![\w/.])\.\./shared|\bKSCHEDWEB_SHARED\b")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
UPWARD = re.compile(r"(?:\.\./)+[\w.-]+")


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_the_folder_beside_the_checkout() -> None:
    assert [path for path in tracked() if path != Path(__file__) and BESIDE.search(path.read_bytes())] == []


def test_documents_link_to_what_is_tracked() -> None:
    targets = {path for file in tracked() for path in (file, *file.parents)}
    missing = [
        f"{document.relative_to(ROOT)}: {link}"
        for document in tracked("*.md")
        for link in LINK.findall(document.read_text(encoding="utf-8"))
        if (document.parent / link).resolve() not in targets
    ]
    assert missing == []


def test_scripts_stay_inside_the_checkout() -> None:
    scripts = [path for path in tracked("*/build", ".ci/run", "Makefile", "*.sh") if path.suffix in ("", ".sh")]
    assert len(scripts) > 5
    outside = [
        f"{script.relative_to(ROOT)}: {path}"
        for script in scripts
        for path in UPWARD.findall(script.read_text(encoding="utf-8"))
        if not (script.parent / path).resolve().is_relative_to(ROOT)
    ]
    assert outside == []
