"""KubeSchedulerConfiguration v1: types, defaults, merge and validation as kube-scheduler 1.36 does them."""

from __future__ import annotations

from kschedweb.engine.config.json_schema import json_schema
from kschedweb.engine.config.loading import DEFAULT_DOCUMENT, EMPTY, Loaded, cli_validate, load
from kschedweb.engine.config.model import Configuration, Profile
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.validation.fields import Problem

__all__ = [
    "EMPTY",
    "Configuration",
    "Loaded",
    "PluginRef",
    "Problem",
    "Profile",
    "cli_validate",
    "default_document",
    "json_schema",
    "load",
]


def default_document() -> str:
    """Return the YAML text a new policy starts with: kube-scheduler's defaults."""
    return DEFAULT_DOCUMENT
