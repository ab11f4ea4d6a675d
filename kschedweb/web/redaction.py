"""Removes secrets from logs, errors and job rows, by the name of a field and by patterns in values."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

MASK = "[redacted]"

_SECRET_NAME = re.compile(
    r"passw|secret|token|authorization|cookie|kubeconfig|credential|private.?key|api.?key|key.?data|session",
    re.IGNORECASE,
)
# Fields with suspicious names whose values are not secret.
_PUBLIC_NAMES = frozenset({"token_id", "token_name", "token_prefix"})

# Patterns must be linear: addresses of 60 kB from strangers are redacted before they are logged.
_SECRET_VALUES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"\bks[ew]_[A-Za-z0-9_-]{8,}"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{1,8000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\b(bearer|basic)\s+[^\s,;\"']+", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@:]*:[^\s/@]*@", re.IGNORECASE), rf"\1{MASK}@"),
    (
        re.compile(
            r"((?:password|passwd|secret|token|key-data|api[_-]?key)[\"']?\s*[:=]\s*)"
            r"(\"[^\"]*\"|'[^']*'|[^\s,;&}\"']+)",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
)


def redact_text(text: str) -> str:
    """Return ``text`` without anything that looks like a key, a token, or a password."""
    for pattern, replacement in _SECRET_VALUES:
        text = pattern.sub(replacement, text)
    return text


def redact(value: Any, name: str = "") -> Any:
    """Return a copy of plain data without secrets; ``name`` is the field of ``value``."""
    if name and name not in _PUBLIC_NAMES and _SECRET_NAME.search(name) and value not in (None, "", True, False):
        return MASK
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {key: redact(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in value]
    return value


def redact_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact an event. This structlog processor must be the last one before rendering."""
    return {key: item if key.startswith("_") else redact(item, key) for key, item in event.items()}
