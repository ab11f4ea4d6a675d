"""What is asked about moves, for pages and REST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.engine.studies.moves.repeated_cycles import ROUND_INTERVAL, ROUNDS
from kschedweb.policies.descheduler.validation import check_descheduler
from kschedweb.policies.dialects import DESCHEDULER
from kschedweb.policies.selectors import descheduling_only
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision
    from kschedweb.web.errors import FieldProblem

STARTING = "the starting policy, which is not saved"
MOST_ROUNDS = 20
LONGEST_EVERY = 24 * 60  # minutes


@dataclass(frozen=True)
class DryRunRequest:
    """``document`` is a DeschedulerPolicy, ``label`` which one; cycles follow each other after ``every`` seconds."""

    document: str
    label: str
    rounds: int = ROUNDS
    every: float = ROUND_INTERVAL


def request_for_revision(revision: Revision, rounds: int, interval: float, path: str = "descheduler") -> DryRunRequest:
    """The question about a saved policy; raises ``Unprocessable`` at ``path`` where it is of another kind."""
    descheduler_revision = descheduling_only(revision, path)
    return DryRunRequest(
        descheduler_revision.document,
        f"{descheduler_revision.policy.name}, revision {descheduler_revision.number}",
        rounds,
        interval,
    )


def request_for_document(document: str, rounds: int, interval: float) -> DryRunRequest:
    """The question about a text; raises ApplicationError with each problem at its line."""
    checked = check_descheduler(document)
    if not checked.valid:
        messages = (f"line {problem.line}: {problem.message}" for problem in checked.errors)
        errors: list[FieldProblem] = [{"path": "document", "message": message} for message in messages]
        raise ApplicationError(DESCHEDULER.refused, errors=errors)
    return DryRunRequest(document, "a policy that is not saved", rounds, interval)


def starting_request(rounds: int = ROUNDS, interval: float = ROUND_INTERVAL) -> DryRunRequest:
    """The question about the policy with which people begin."""
    return DryRunRequest(DESCHEDULER.defaults, STARTING, rounds, interval)
