"""Converts a classic policy to a KubeSchedulerConfiguration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.releases.classic import PolicyError, edition_of, load_policy
from kschedweb.engine.releases.classic.conversion import convert_policy
from kschedweb.web.errors import FieldProblem, Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.releases.classic.conversion import Conversion
    from kschedweb.policies.models import Revision


def convert_revision(revision: Revision) -> Conversion:
    """Convert ``revision`` to profiles. Raises ``Unprocessable`` if it is not classic, or cannot be converted."""
    if not revision.policy.dialect.is_convertible:
        raise Unprocessable(f"{revision.policy.name} has profiles already. Only a classic policy can be converted.")
    loaded = load_policy(revision.document)
    if loaded.policy is None:
        raise ValueError("; ".join(loaded.errors))
    try:
        return convert_policy(loaded.policy, edition_of(revision.process))
    except PolicyError as error:
        problems: list[FieldProblem] = [{"path": problem.path, "message": problem.text} for problem in error.problems]
        message = "kube-scheduler would not start with what this policy says: change it first."
        raise Unprocessable(message, errors=problems) from None


def render_document(revision: Revision, conversion: Conversion) -> str:
    """Return the YAML of ``conversion``, with a comment that names the converted revision."""
    head = f"# Converted from the classic policy {revision.policy.name}, revision {revision.number}.\n"
    return f"{head}# {conversion.summary}\n{as_yaml(conversion.document)}"
