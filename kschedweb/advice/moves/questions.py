"""What is asked about moves, for pages and REST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.engine.studies.moves.fight import EVERY, ROUNDS
from kschedweb.policies.descheduler.validation import check_descheduler
from kschedweb.policies.kinds import DESCHEDULER
from kschedweb.policies.selectors import descheduling_only
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision
    from kschedweb.web.errors import FieldProblem

STARTING = "the starting policy, which is not saved"
MOST_ROUNDS = 20
LONGEST_EVERY = 24 * 60  # minutes


@dataclass(frozen=True)
class Asked:
    """``document`` is a DeschedulerPolicy, ``label`` which one; cycles follow each other after ``every`` seconds."""

    document: str
    label: str
    rounds: int = ROUNDS
    every: float = EVERY


def of_revision(revision: Revision, rounds: int, every: float, path: str = "descheduler") -> Asked:
    """The question about a saved policy; raises ``Unprocessable`` at ``path`` where it is of another kind."""
    found = descheduling_only(revision, path)
    return Asked(found.document, f"{found.policy.name}, revision {found.number}", rounds, every)


def of_document(document: str, rounds: int, every: float) -> Asked:
    """The question about a text; raises ApplicationError with each problem at its line."""
    checked = check_descheduler(document)
    if not checked.valid:
        told = (f"line {one.line}: {one.message}" for one in checked.errors)
        errors: list[FieldProblem] = [{"path": "document", "message": said} for said in told]
        raise ApplicationError(DESCHEDULER.refused, errors=errors)
    return Asked(document, "a policy that is not saved", rounds, every)


def starting(rounds: int = ROUNDS, every: float = EVERY) -> Asked:
    """The question about the policy with which people begin."""
    return Asked(DESCHEDULER.defaults, STARTING, rounds, every)
