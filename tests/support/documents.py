"""Documents in Markdown: their headings and links, and the tests that they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.site import ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a document's headings, as GitHub and GitLab make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def links(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that a document links to, each with its anchor or ""."""
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        yield ((path.parent / target).resolve() if target else path), anchor


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def missing_tests(text: str) -> list[str]:
    """Return the tests named in ``text`` as `folder/test_module.py::test_function` that do not exist."""
    names = re.findall(r"`(?:tests/)?(\S+\.py)::(\w+)`", text)
    return [f"{path}::{name}" for path, name in names if not _has_test(ROOT / "tests" / path, name)]


def _has_test(path: Path, name: str) -> bool:
    return path.name.startswith("test_") and name.startswith("test_") and path.exists() and name in functions_of(path)
