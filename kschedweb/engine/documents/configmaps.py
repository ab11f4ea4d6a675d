"""Policies in ConfigMaps, as clusters and manifests of schedulers hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kschedweb.engine.documents import values
from kschedweb.engine.documents.yaml_events import Bounds, RefusedError

KIND = "ConfigMap"
POLICY_KINDS = ("KubeSchedulerConfiguration", "Policy", "DynamicSchedulerPolicy", "DeschedulerPolicy")
_BOUNDS = Bounds(32, 100_000)
# Cheap tests on the text come first: most texts are no ConfigMap, and parsing YAML is slow.
_MENTIONS = re.compile(r"""kind["']?\s*:\s*["']?ConfigMap\b""")
_IS_POLICY = re.compile(rf"""^[\s{{]*["']?kind["']?\s*:\s*["']?({"|".join(POLICY_KINDS)})\b""", re.MULTILINE)
_MOST_NAMED = 10


class ConfigMapError(ValueError):
    """A ConfigMap in which no single policy is found; the text names its keys."""


def unpack_config_map(text: str) -> str:
    """Return the policy in ``text`` if that is a ConfigMap, else ``text`` itself.

    Of several manifests behind ``---`` the ConfigMaps count, unless a policy is among them. Raises ConfigMapError.
    """
    if not _MENTIONS.search(text):
        return text
    try:
        documents = values.read_documents(text, _BOUNDS, repeated_keys=True)
    except RefusedError:
        return text  # the reader of the text reports it
    if any(isinstance(document, dict) and document.get("kind") in POLICY_KINDS for document in documents):
        return text
    data = [document.get("data") or {} for document in documents if _is_config_map(document)]
    entries = {key: value for part in data if isinstance(part, dict) for key, value in part.items()}
    return _choose_policy(entries) if data else text


def _is_config_map(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == KIND


def _choose_policy(entries: Mapping[str, object]) -> str:
    texts = {key: value for key, value in entries.items() if isinstance(value, str) and value.strip()}
    policies = [key for key, value in texts.items() if _IS_POLICY.search(value)]
    # kube-scheduler accepts a Policy without a kind, so a single key must be the policy.
    chosen = policies or (list(texts) if len(entries) == 1 else [])
    if len(chosen) == 1:
        return texts[chosen[0]]
    if not entries:
        raise ConfigMapError("This is a ConfigMap without data: paste the policy itself.")
    key_names = ", ".join(sorted(entries)[:_MOST_NAMED])
    if policies:
        raise ConfigMapError(f"This ConfigMap holds a policy under each of {', '.join(policies)}: paste one of them.")
    raise ConfigMapError(f"This ConfigMap has the keys {key_names}, and none holds a policy: paste the policy itself.")
