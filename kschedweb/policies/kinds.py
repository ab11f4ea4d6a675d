"""Documents of either kind: which one it is, and what its engine says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.config import default_document
from kschedweb.policies import diff
from kschedweb.policies.classic import diff as classic_diff
from kschedweb.policies.classic.validation import MISSPELT, ClassicChecked, check_classic
from kschedweb.policies.diff import Change
from kschedweb.policies.editing.document import Document, DocumentError, Problem, parse
from kschedweb.policies.models import Kind, Policy, Revision
from kschedweb.policies.validation import Checked, check

CLASSIC_FIELDS = frozenset({*MISSPELT, *MISSPELT.values()})


def kind_of(data: Any) -> Kind:
    """By ``kind``, or where the document has none by its fields; what is no object counts as profiles."""
    if not isinstance(data, dict):
        return Kind.PROFILES
    said = data.get("kind")
    is_classic = said == "Policy" if said else bool(CLASSIC_FIELDS & data.keys())
    return Kind.CLASSIC if is_classic else Kind.PROFILES


def check_either(text: str, process: Mapping[str, Any] | None = None) -> Checked | ClassicChecked:
    """What the engine of its kind says about ``text``; ``process`` is how a classic kube-scheduler was started."""
    try:
        kind = kind_of(parse(text).data)
    except DocumentError:
        kind = Kind.PROFILES
    return check_classic(text, process or {}) if kind == Kind.CLASSIC else check(text)


def revision_checked(revision: Revision) -> Checked | ClassicChecked:
    """What the engine says about a saved revision."""
    if revision.policy.kind == Kind.CLASSIC:
        return check_classic(revision.document, revision.process)
    return check(revision.document)


def changes_since(saved: Revision, checked: Checked | ClassicChecked) -> list[Change]:
    """What ``checked`` makes kube-scheduler do otherwise than ``saved``; nothing where it is not valid."""
    before = revision_checked(saved)
    if isinstance(before, ClassicChecked) and isinstance(checked, ClassicChecked):
        return classic_diff.changes(before, checked)
    if isinstance(before, Checked) and isinstance(checked, Checked):
        return diff.changes(before.loaded, checked.loaded)
    return []


def revision_changes(old: Revision, new: Revision) -> list[Change]:
    """What differs in meaning between two revisions of a policy."""
    return changes_since(old, revision_checked(new))


def deviations(revision: Revision) -> list[Change]:
    """What a revision does otherwise than the scheduler of its kind by default."""
    checked = revision_checked(revision)
    if isinstance(checked, ClassicChecked):
        return classic_diff.deviations(checked)
    return diff.changes(check(default_document()).loaded, checked.loaded)


def other_kind(document: Document, policy: Policy) -> Problem | None:
    """The problem of a document that is not of the kind of ``policy``, at the line that says so."""
    kind = kind_of(document.data)
    if kind == policy.kind:
        return None
    is_classic = kind == Kind.CLASSIC
    made, wanted = ("a classic Policy", "profiles") if is_classic else ("not a classic Policy", "a classic policy")
    said = f"The document is {made}, but {policy.name} is {wanted}, and stays so: make another policy of it."
    line, column, end = document.place(("kind",))
    return Problem(said, "kind", line, column, end, ("kind",))
