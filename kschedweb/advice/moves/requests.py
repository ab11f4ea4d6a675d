"""Requests about moves, for pages and REST."""

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
# Minutes.
LONGEST_EVERY = 24 * 60


@dataclass(frozen=True)
class DryRunRequest:
    """A dry run of the descheduler."""

    # A DeschedulerPolicy as text, and its name in words.
    document: str
    label: str
    # Cycles, and the seconds from one to the next.
    rounds: int = ROUNDS
    every: float = ROUND_INTERVAL


def request_for_revision(revision: Revision, rounds: int, interval: float, path: str = "descheduler") -> DryRunRequest:
    """Return the request about a saved policy. Raise ``Unprocessable`` at ``path`` for another kind of policy."""
    descheduler_revision = descheduling_only(revision, path)
    return DryRunRequest(
        descheduler_revision.document,
        f"{descheduler_revision.policy.name}, revision {descheduler_revision.number}",
        rounds,
        interval,
    )


def request_for_document(document: str, rounds: int, interval: float) -> DryRunRequest:
    """Return the request about a text. Raise ApplicationError with each problem at its line."""
    checked = check_descheduler(document)
    if not checked.valid:
        messages = (f"line {problem.line}: {problem.message}" for problem in checked.errors)
        errors: list[FieldProblem] = [{"path": "document", "message": message} for message in messages]
        raise ApplicationError(DESCHEDULER.refused, errors=errors)
    return DryRunRequest(document, "a policy that is not saved", rounds, interval)


def starting_request(rounds: int = ROUNDS, interval: float = ROUND_INTERVAL) -> DryRunRequest:
    """Return the request about the policy with which people begin."""
    return DryRunRequest(DESCHEDULER.defaults, STARTING, rounds, interval)
