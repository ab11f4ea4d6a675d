"""Rules for label names, label values and extended resource names, each as a list of complaints.

Most texts of a cluster recur again and again, so the complaints about recent ones are cached.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    f" '({_NAME})?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    f" end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    f" an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_DNS_LABEL}')"
)
_IS_NAME, _IS_VALUE, _IS_LABEL, _IS_SUBDOMAIN = (
    re.compile(pattern, re.ASCII).fullmatch for pattern in (_NAME, f"({_NAME})?", _DNS_LABEL, _SUBDOMAIN)
)
# Kubernetes' `LabelValueMaxLength` and `DNS1123SubdomainMaxLength`.
_LABEL_LENGTH = 63
_SUBDOMAIN_LENGTH = 253
# Enough for the names and label values of a large cluster.
_CACHE_SIZE = 65536


@lru_cache(maxsize=_CACHE_SIZE)
def name_complaints(name: str) -> tuple[str, ...]:
    """Return the complaints about a label name (``[prefix/]name``)."""
    parts = name.split("/")
    if len(parts) > 2:
        return (
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    complaints = [] if len(parts) == 1 else [f"prefix part {text}" for text in _prefix_complaints(parts[0])]
    local = parts[-1]
    if not local:
        complaints.append("name part must be non-empty")
    elif _byte_length(local) > _LABEL_LENGTH:
        complaints.append(f"name part must be no more than {_LABEL_LENGTH} bytes")
    if not _IS_NAME(local):
        complaints.append(f"name part {_NAME_RULE}")
    return tuple(complaints)


def _prefix_complaints(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    complaints = (
        [] if _byte_length(prefix) <= _SUBDOMAIN_LENGTH else [f"must be no more than {_SUBDOMAIN_LENGTH} bytes"]
    )
    if not _IS_SUBDOMAIN(prefix):
        complaints.append(_SUBDOMAIN_RULE)
    return complaints


@lru_cache(maxsize=_CACHE_SIZE)
def subdomain_complaints(name: str) -> tuple[str, ...]:
    """Return the complaints about the name of an object, which may have dots."""
    complaints = (
        () if _byte_length(name) <= _SUBDOMAIN_LENGTH else (f"must be no more than {_SUBDOMAIN_LENGTH} characters",)
    )
    return complaints if _IS_SUBDOMAIN(name) else (*complaints, _SUBDOMAIN_RULE)


@lru_cache(maxsize=_CACHE_SIZE)
def dns_label_complaints(name: str) -> tuple[str, ...]:
    """Return the complaints about a name without dots, such as that of a namespace or a container."""
    complaints = () if _byte_length(name) <= _LABEL_LENGTH else (f"must be no more than {_LABEL_LENGTH} characters",)
    if _IS_LABEL(name):
        return complaints
    return (*complaints, "must not contain dots" if _IS_SUBDOMAIN(name) else _LABEL_RULE)


@lru_cache(maxsize=_CACHE_SIZE)
def value_complaints(value: str) -> tuple[str, ...]:
    """Return the complaints about a label value."""
    complaints = () if _byte_length(value) <= _LABEL_LENGTH else (f"must be no more than {_LABEL_LENGTH} bytes",)
    return complaints if _IS_VALUE(value) else (*complaints, _VALUE_RULE)


def is_extended_resource(name: str) -> bool:
    """Return whether ``name`` is an extended resource: with a prefix that is not Kubernetes' own."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not name_complaints(f"requests.{name}")


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
