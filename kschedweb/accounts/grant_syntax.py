"""The written form of a grant's target: a label of clusters, and names of namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kschedweb.accounts.grant_targets import ClusterRef

# Like a label of Kubernetes, as key=value.
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?=([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Namespaces of one grant; more than these belong into a label of clusters.
MOST_NAMESPACES = 50


class HeldGrant(Protocol):
    """A grant that somebody has, from an admin or from a provider's rule."""

    @property
    def role(self) -> str: ...

    @property
    def namespaces(self) -> list[str]: ...

    @property
    def everywhere(self) -> bool:
        """True if it covers all clusters in whole."""

    def covers(self, cluster: ClusterRef) -> bool:
        """Return whether it covers ``cluster``, in whole or in part."""


def label_read(text: str) -> str:
    """Return ``text`` if it is like key=value. Raises ValueError with a sentence."""
    if not LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is no label. Write key=value, such as env=prod")
    return text


def has_label(labels: Mapping[str, str], label: str) -> bool:
    """Return whether ``label``, as key=value, is among ``labels``."""
    key, _, value = label.partition("=")
    return labels.get(key) == value


def namespaces_read(names: Iterable[str]) -> list[str]:
    """Return ``names`` in order, each once. Raises ValueError with a sentence."""
    namespaces = sorted({name.strip() for name in names} - {""})
    if len(namespaces) > MOST_NAMESPACES:
        raise ValueError(f"These are {len(namespaces)} namespaces, and a grant names at most {MOST_NAMESPACES}")
    for name in namespaces:
        if not NAMESPACE.fullmatch(name):
            raise ValueError(f"{name[:63]!r} is no name of a namespace: it has small letters, digits and - only")
    return namespaces


def describe_target(target: str, namespaces: Iterable[str]) -> str:
    """Return the target and its namespaces in words."""
    listed = ", ".join(namespaces)
    return f"{target}, namespaces {listed}" if listed else target
