"""Who does what of the intents: the carrier writes them, the ledger notes them, people are asked about held pods."""

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

APPROVED_SECONDS = 60.0  # a binding that people approved is tried again for as long, before they are asked again


@dataclass
class Performer:
    """Used by the run's own thread only. ``binds``: uids of pods whose binding is under way."""

    carrier: Carrier
    ledger: Ledger
    requests: Requests
    binds: set[str] = field(default_factory=set)

    def begin_intent(self, intent: Intent, term: int, now: float) -> None:
        """Have the intent carried out; nothing here waits for it."""
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
