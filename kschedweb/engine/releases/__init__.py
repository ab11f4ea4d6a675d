"""The supported releases of kube-scheduler, one value each, and functions that read documents as a release does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.config import Loaded, Release, loading
from kschedweb.engine.config import json_schema as schemas
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.v1_36 import V1_36

CURRENT = V1_36
"""The release of documents that say nothing of one."""


def load(document: str | bytes | Mapping[str, Any] | None, release: Release = CURRENT) -> Loaded:
    """Load YAML or JSON text or a mapping; ``None`` means kube-scheduler's defaults.

    Never raises for the content of the document: all problems are in ``errors``.
    """
    return loading.load(document, release)


def json_schema(release: Release = CURRENT) -> Json:
    """The JSON Schema of a configuration, with the plugins of ``release``."""
    return schemas.json_schema(release)


def cli_validate(text: str, release: Release = CURRENT) -> Json:
    """The answer of ``validate`` on the command line: ``valid`` and, if there are any, errors, warnings, defaulted.

    Empty text means the defaults.
    """
    loaded = load(text or None, release)
    parts = {"errors": loaded.errors, "warnings": loaded.warnings, "defaulted": loaded.defaulted}
    return {"valid": loaded.valid, **{name: value for name, value in parts.items() if value}}
