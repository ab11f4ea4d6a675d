"""The journal of a search for victims: what became of each candidate, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import Enum

from kschedweb.engine.values import dataclass


class CandidateVerdict(Enum):
    """The verdict of a search on a candidate."""

    TARGET = "target"
    # It was to go, but what it frees is not needed (`fillBackWorkloads`).
    SPARED = "spared"
    # Those before it were enough.
    NOT_NEEDED = "not needed"
    # It may only go for a preemptor that stays within its nominal quota, and this one would borrow.
    MUST_NOT_BORROW = "must not borrow"
    # Its queue, or a cohort on the way up, uses no more than its own quota by then.
    WITHIN_NOMINAL = "within nominal"
    # No strategy of fair sharing takes it: its queue's share would not stay above the preemptor's.
    FAIR_SHARE = "fair share"
    # Even with it, and all before it, gone the preemptor does not fit.
    IN_VAIN = "in vain"
    # The policy does not allow it.
    POLICY_NEVER = "policy never"
    # Its priority is not low enough for the policy.
    PRIORITY = "priority"
    # No victims are looked for: the request exceeds what the queue may reclaim.
    NOT_ASKED = "not asked"


@dataclass
class SearchAttempt:
    """One pass over the candidates."""

    may_borrow: bool
    verdicts: dict[str, CandidateVerdict]
    is_successful: bool = False


@dataclass
class PreemptionJournal:
    """All passes of a search."""

    attempts: list[SearchAttempt] = field(default_factory=list)
    # Cohorts of equal shares, of which Kueue asks any one first (fair sharing).
    ties: list[tuple[str, ...]] = field(default_factory=list)

    def begin(self, candidates: Iterable[str], *, may_borrow: bool) -> None:
        self.attempts.append(SearchAttempt(may_borrow, dict.fromkeys(candidates, CandidateVerdict.NOT_NEEDED)))

    def note(self, key: str, verdict: CandidateVerdict) -> None:
        self.attempts[-1].verdicts[key] = verdict

    def succeed(self, targets: Iterable[str]) -> None:
        """End the pass with ``targets``: the others that were to go are spared."""
        attempt = self.attempts[-1]
        attempt.is_successful = True
        for key, verdict in attempt.verdicts.items():
            if verdict is CandidateVerdict.IN_VAIN:
                attempt.verdicts[key] = CandidateVerdict.SPARED
        attempt.verdicts.update(dict.fromkeys(targets, CandidateVerdict.TARGET))

    @property
    def last_attempt(self) -> SearchAttempt | None:
        return self.attempts[-1] if self.attempts else None
