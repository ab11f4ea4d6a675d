"""The dialects of policies by kind, and the dialect of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, parse
from kschedweb.engine.releases.older import readable
from kschedweb.policies.classic.dialect import Classic
from kschedweb.policies.classic.validation import MISSPELT
from kschedweb.policies.dialect import CheckedText, Dialect
from kschedweb.policies.profiles import Profiles

PROFILES, CLASSIC = Profiles(), Classic()
DIALECTS: dict[str, Dialect[Any, Any]] = {one.kind: one for one in (PROFILES, CLASSIC)}
WITH_PROFILES = tuple(kind for kind, one in DIALECTS.items() if one.has_profiles)
CONVERTIBLE = tuple(kind for kind, one in DIALECTS.items() if one.is_convertible)

CLASSIC_FIELDS = frozenset({*MISSPELT, *MISSPELT.values()})


def dialect_of(data: Any) -> Dialect[Any, Any]:
    """The dialect by ``kind``, or by fields if that is missing; data that is not an object counts as profiles."""
    if not isinstance(data, dict):
        return PROFILES
    said = data.get("kind")
    is_classic = said == "Policy" if said else bool(CLASSIC_FIELDS & data.keys())
    return CLASSIC if is_classic else PROFILES


def check_either(text: str, process: Mapping[str, Any] | None = None) -> CheckedText:
    """Check ``text`` with the engine of its kind; ``process`` has the start options of a classic kube-scheduler."""
    try:
        dialect = dialect_of(parse(readable(text)).data)
    except DocumentError:
        dialect = PROFILES
    checked: CheckedText = dialect.check(text, process or {})
    return checked


def other_kind(document: Document, kind: str, name: str) -> MarkedProblem | None:
    """The problem of a document whose kind is not the ``kind`` of the policy ``name``, at its line."""
    dialect = dialect_of(document.data)
    if dialect.kind == kind:
        return None
    is_classic = dialect is CLASSIC
    made, wanted = ("a classic Policy", "profiles") if is_classic else ("not a classic Policy", "a classic policy")
    said = f"The document is {made}, but {name} is {wanted}, and stays so: make another policy of it."
    line, column, end = document.place(("kind",))
    return MarkedProblem(said, "kind", line, column, end, ("kind",))
