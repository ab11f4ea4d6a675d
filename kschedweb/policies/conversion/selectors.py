"""Converts a classic policy to a KubeSchedulerConfiguration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.documents.marked import as_yaml
from kschedweb.engine.releases.classic import PolicyError, edition_of, load_policy
from kschedweb.engine.releases.classic.conversion import convert
from kschedweb.web.errors import FieldProblem, Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.releases.classic.conversion import Conversion
    from kschedweb.policies.models import Revision


def conversion(revision: Revision) -> Conversion:
    """The conversion of ``revision``; raises ``Unprocessable`` if it is not classic, or cannot be converted."""
    if not revision.policy.dialect.is_convertible:
        raise Unprocessable(f"{revision.policy.name} has profiles already. Only a classic policy can be converted.")
    loaded = load_policy(revision.document)
    if loaded.policy is None:
        raise ValueError("; ".join(loaded.errors))
    try:
        return convert(loaded.policy, edition_of(revision.process))
    except PolicyError as error:
        problems: list[FieldProblem] = [{"path": one.path, "message": one.text} for one in error.problems]
        said = "kube-scheduler would not start with what this policy says: change it first."
        raise Unprocessable(said, errors=problems) from None


def document(revision: Revision, made: Conversion) -> str:
    """The YAML of ``made``, with a comment that names the converted revision."""
    head = (
        f"# Converted from the classic policy {revision.policy.name}, revision {revision.number}.\n# {made.summary}\n"
    )
    return head + as_yaml(made.document)
