"""Configurations of kube-scheduler before v1, read by their own rules and converted to v1.

The fields and defaults of each version are those of the last kube-scheduler that read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kschedweb.engine.config import Loaded, Release, loading
from kschedweb.engine.config.document import RefusedError
from kschedweb.engine.config.notes import Conversion
from kschedweb.engine.config.reading import read_document
from kschedweb.engine.config.source import DocumentSource, UnreadableError
from kschedweb.engine.releases.older.document import convert_document, other_version
from kschedweb.engine.releases.older.text import is_old, list_marks, make_readable
from kschedweb.engine.releases.older.versions import READ, VERSIONS
from kschedweb.engine.validation.fields import Problem

__all__ = ["READ", "VERSIONS", "Conversion", "is_old", "load_old", "make_readable", "with_version_hint"]


def load_old(document: str | bytes | Mapping[str, Any] | None, release: Release) -> Loaded | None:
    """Load a document of a version before v1 as its conversion to v1; ``None`` for every other document.

    It never raises for the document's contents. The notes on its conversion are its first warnings.
    """
    if (source := _read_source(document)) is None:
        return None
    lines = source.lines or {}
    try:
        conversion = convert_document(source, release)
    except RefusedError as refused:
        return Loaded(refused.errors, refused.problems, lines=lines)
    if conversion is None:
        return None
    if isinstance(document, str):
        conversion = replace(conversion, notes=(*list_marks(document), *conversion.notes))
    loaded = loading.load(conversion.document, release)
    version = VERSIONS[conversion.version]
    problems = loaded.problems
    if not version.has_profiles:
        problems = [replace(problem, path=problem.path.removeprefix("profiles[0].")) for problem in problems]
    return replace(
        loaded,
        problems=problems,
        warnings=[_version_note(conversion, release), *map(_note_text, conversion.notes), *loaded.warnings],
        lines=lines,
        conversion=conversion,
    )


def _read_source(document: str | bytes | Mapping[str, Any] | None) -> DocumentSource | None:
    """Return the document, read, if it may be of a version before v1; ``None`` otherwise."""
    if isinstance(document, Mapping):
        if document.get("apiVersion") not in VERSIONS:
            return None
    elif document is None:
        return None
    else:
        text = document if isinstance(document, str) else document.decode("utf-8-sig", "replace")
        # A cheap test first: most documents are of v1, and need not be read twice.
        if not any(version in text for version in VERSIONS):
            return None
        document = make_readable(text)
    try:
        return read_document(document)
    except UnreadableError:
        return None  # which is told of it as of any other text


def _version_note(conversion: Conversion, release: Release) -> str:
    last = VERSIONS[conversion.version].last
    text = f"{conversion.version} is read as kube-scheduler {last} did, and becomes v1"
    return f"apiVersion: {text}; kube-scheduler {release.name} itself does not take it"


def _note_text(note: Any) -> str:
    return ": ".join(dict.fromkeys(part for part in (note.path, note.name, note.text) if part))


def with_version_hint(loaded: Loaded, document: str | bytes | Mapping[str, Any] | None) -> Loaded:
    """Return ``loaded`` with the known versions in its errors, if it is refused for its version."""
    at = next((index for index, entry in enumerate(loaded.problems) if entry.path == "apiVersion"), None)
    if at is None or document is None:
        return loaded
    try:
        value = read_document(document).value
    except UnreadableError:
        return loaded
    version = value.get("apiVersion") if isinstance(value, dict) else None
    hint = other_version(version) if isinstance(version, str) else ""
    if not hint:
        return loaded
    problem = Problem("apiVersion", f"{loaded.problems[at].text}: {hint}")
    return replace(loaded, errors=[problem.text], problems=[problem])
