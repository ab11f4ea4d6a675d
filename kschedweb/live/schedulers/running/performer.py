"""Perform intents: the carrier writes them, the ledger notes them, and people are asked about held pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kschedweb.engine.live import (
    BindPod,
    EvictPod,
    FreeDevices,
    HoldPod,
    NominateNode,
    ReportGroup,
    ReportPod,
    Superseded,
    WaitAtPermit,
)

if TYPE_CHECKING:
    from kschedweb.engine.live import Intent
    from kschedweb.live.schedulers.running.held_pods import Requests
    from kschedweb.live.schedulers.running.ledger import Ledger
    from kschedweb.live.schedulers.writing.carrier import Carrier

# Seconds for which an approved binding is retried before people are asked again.
APPROVED_SECONDS = 60.0


@dataclass
class Performer:
    """Performs the intents of one run, in the run's own thread only."""

    carrier: Carrier
    ledger: Ledger
    requests: Requests
    # Uids of pods whose binding is under way.
    binds: set[str] = field(default_factory=set)

    def begin_intent(self, intent: Intent, term: int, now: float) -> None:
        """Begin to carry out the intent; nothing here waits for its end."""
        match intent:
            case BindPod():
                if not self.requests.binds_later(intent):
                    self.bind(intent, term)
            case HoldPod():
                self.ledger.note_held(intent)
                self.requests.hold_pod(intent)
            case WaitAtPermit():
                self.ledger.note_waiting(intent)
            case ReportPod():
                self.ledger.note_reported(intent, now)
                self.carrier.report(intent, term)
            case Superseded():
                self.requests.handle_superseded(intent, now)
            case _:
                self._carry_write(intent, term)

    def _carry_write(self, intent: Intent, term: int) -> None:
        match intent:
            case ReportGroup():
                self.carrier.report_group(intent, term)
            case EvictPod():
                self.carrier.evict(intent, term)
            case NominateNode():
                self.carrier.nominate(intent, term)
            case FreeDevices():
                self.carrier.free(intent, term)

    def bind(self, intent: BindPod, term: int) -> None:
        self.binds.add(intent.pod.uid)
        self.carrier.bind(intent, term)

    def bind_approved(self, intent: BindPod, term: int) -> None:
        self.carrier.bind(intent, term, patience=APPROVED_SECONDS)
