"""KubeSchedulerConfiguration v1: types, defaults, merge and validation as a release of kube-scheduler does them."""

from __future__ import annotations

from kschedweb.engine.config.loading import DEFAULT_DOCUMENT, EMPTY, Loaded
from kschedweb.engine.config.model import Configuration, Profile
from kschedweb.engine.config.release import GateError, Release
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.validation.fields import Problem

__all__ = [
    "EMPTY",
    "Configuration",
    "GateError",
    "Loaded",
    "PluginRef",
    "Problem",
    "Profile",
    "Release",
    "default_document",
]


def default_document() -> str:
    """Return the YAML text that a new policy starts with: kube-scheduler's defaults."""
    return DEFAULT_DOCUMENT
