"""The supported releases of kube-scheduler, one value each, and functions that read documents as a release does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kschedweb.engine.config import GateError, Loaded, Release, loading
from kschedweb.engine.config import json_schema as schemas
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.older import load_old, with_version_hint
from kschedweb.engine.releases.v1_34 import V1_34
from kschedweb.engine.releases.v1_35 import V1_35
from kschedweb.engine.releases.v1_36 import V1_36
from kschedweb.engine.releases.v1_37 import V1_37
from kschedweb.engine.releases.v1_38 import V1_38

# The known releases by name ("1.36"), the oldest first.
RELEASES = {release.name: release for release in (V1_34, V1_35, V1_36, V1_37, V1_38)}
# The release of documents that do not name one: the newest that is no preview.
CURRENT = [release for release in RELEASES.values() if not release.is_preview][-1]


# Limits on a request's files: their number, and their characters in all.
MOST_FILES, LARGEST_FILES = 20, 1 << 20
MINOR_VERSION = re.compile(r"1\.\d{1,4}")
BOOLEANS = {"true": True, "false": False}


class ReleaseError(ValueError):
    """An unknown release or unknown feature gates; the text names the known ones."""


def list_releases() -> str:
    """Return the known releases as help texts name them."""
    return ", ".join(release.label for release in RELEASES.values())


def get_release(name: str, gates: Mapping[str, bool] | None = None, files: Mapping[str, str] | None = None) -> Release:
    """Return the release ``name`` ("1.36"; "" for ``CURRENT``) with these feature gates on or off. Raises ReleaseError.

    ``files`` are the texts of files that arguments of plugins point at, by path. An older or newer release than the
    known ones is replaced by the nearest one, whose ``remark`` says so.
    """
    if not isinstance(name, str) or (name and MINOR_VERSION.fullmatch(name) is None):
        raise ReleaseError(f"release: must be one of {list_releases()}")
    release = (RELEASES.get(name) or _substitute_release(name)) if name else CURRENT
    if not isinstance(gates or {}, Mapping) or not all(isinstance(on, bool) for on in (gates or {}).values()):
        raise ReleaseError("featureGates: must be names with true or false")
    _check_files(files or {})
    if files:
        release = replace(release, files=dict(files))
    try:
        return release.with_gates(gates) if gates else release
    except GateError as error:
        raise ReleaseError(f"featureGates: {error}") from None


def _check_files(files: Mapping[str, str]) -> None:
    if not isinstance(files, Mapping) or not all(_is_text(text) for item in files.items() for text in item):
        raise ReleaseError("files: must be paths, each with the text of its file")
    if len(files) > MOST_FILES or sum(map(len, files.values())) > LARGEST_FILES:
        raise ReleaseError(f"files: at most {MOST_FILES} files with 1 MiB in all are taken")


def _is_text(value: object) -> bool:
    """Return whether it can be stored: a database takes neither NUL nor half of a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and value == value.encode(errors="ignore").decode()


@lru_cache(maxsize=64)
def _substitute_release(name: str) -> Release:
    return replace(RELEASES[find_nearest_release(name)], nearest_to=name)


def parse_minor(version: str) -> str:
    """Return the release ("1.33") of a cluster of ``version`` ("v1.33.4-gke.1"), known or not; "" if it names none."""
    match = MINOR_VERSION.match(version.removeprefix("v"))
    return match[0] if match else ""


def find_nearest_release(version: str) -> str:
    """Return the release nearest to a cluster's ``version``, among the known ones; "" if it names none."""
    if not (name := parse_minor(version)):
        return ""
    minors = [int(release.partition(".")[2]) for release in RELEASES]
    return f"1.{min(max(int(name.partition('.')[2]), minors[0]), minors[-1])}"


def find_upgrade_range(version: str) -> tuple[str, str]:
    """Return the releases between which a cluster of ``version`` is upgraded: its own and the newest, which may be
    equal.

    A preview is the newest for a cluster that runs the newest release. If ``version`` names none, as in a dump, the
    first is the one before the newest two.
    """
    names = list(RELEASES)
    newest = names.index(CURRENT.name)
    name = find_nearest_release(version) or names[newest - 2]
    return name, names[-1] if names.index(name) >= newest else CURRENT.name


def read_gates(text: str) -> dict[str, bool]:
    """Return the feature gates of kube-scheduler's flag: ``A=true,B=false``. Raises ReleaseError."""
    gates = {}
    for part in filter(None, (entry.strip() for entry in text.split(","))):
        name, _, state = part.partition("=")
        if state.lower() not in BOOLEANS:
            raise ReleaseError(f"feature gates: {part!r} must be Name=true or Name=false")
        gates[name.strip()] = BOOLEANS[state.lower()]
    return gates


def write_gates(gates: Mapping[str, bool]) -> str:
    """Return the text of feature gates, the reverse of ``read_gates``."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())


def load(document: str | bytes | Mapping[str, Any] | None, release: Release = CURRENT) -> Loaded:
    """Load YAML or JSON text or a mapping; ``None`` means kube-scheduler's defaults.

    A document of a version before v1 is converted to v1 and loaded as that (``Loaded.conversion``); ``release`` itself
    would refuse it. It never raises for the document's contents: all problems are in ``errors``.
    """
    if release.loader is not None:
        loaded: Loaded = release.loader(document)
        return loaded
    return load_old(document, release) or with_version_hint(loading.load(document, release), document)


def json_schema(release: Release = CURRENT) -> Json:
    """Return the JSON Schema of a configuration, with the plugins of ``release``."""
    return schemas.json_schema(release)


def cli_validate(text: str, release: Release = CURRENT) -> Json:
    """Return the answer of ``validate`` on the command line, as ``release`` itself gives it. Empty text means the
    defaults.

    The answer has ``valid`` and, if there are any, errors, warnings, defaulted. ``release`` refuses a document of a
    version before v1; ``converted`` then offers its conversion, and the warnings say how it was converted.
    """
    loaded = loading.load(text or None, release) if release.loader is None else load(text or None, release)
    answer = {"errors": loaded.errors, "warnings": loaded.warnings, "defaulted": loaded.defaulted}
    if not loaded.valid and release.loader is None and (old := load_old(text, release)) is not None:
        answer["warnings"] = [*old.warnings, *(f"it cannot be converted as it is: {error}" for error in old.errors)]
        answer["converted"] = old.conversion.to_dict() if old.conversion else None
    return {"valid": loaded.valid, **{name: value for name, value in answer.items() if value}}
