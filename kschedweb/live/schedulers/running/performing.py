"""Who does what of the intents: the carrier writes them, the ledger notes them, people are asked about held pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kschedweb.engine.live import Bind, Evict, Free, Hold, Nominate, Report, ReportGroup, Superseded, Wait

if TYPE_CHECKING:
    from kschedweb.engine.live import Intent
    from kschedweb.live.schedulers.running.ledger import Ledger
    from kschedweb.live.schedulers.running.requests import Requests
    from kschedweb.live.schedulers.writing.carrying import Carrier

APPROVED_SECONDS = 60.0  # a binding that people approved is tried again for as long, before they are asked again


@dataclass
class Performer:
    """Used by the run's own thread only. ``binds``: uids of pods whose binding is under way."""

    carrier: Carrier
    ledger: Ledger
    requests: Requests
    binds: set[str] = field(default_factory=set)

    def begin(self, intent: Intent, term: int, now: float) -> None:
        """Have the intent carried out; nothing here waits for it."""
        match intent:
            case Bind():
                if not self.requests.binds_later(intent):
                    self.bind(intent, term)
            case Hold():
                self.ledger.held(intent)
                self.requests.held(intent)
            case Wait():
                self.ledger.waiting(intent)
            case Report():
                self.ledger.reported(intent, now)
                self.carrier.report(intent, term)
            case Superseded():
                self.requests.superseded(intent, now)
            case _:
                self._write(intent, term)

    def _write(self, intent: Intent, term: int) -> None:
        match intent:
            case ReportGroup():
                self.carrier.report_group(intent, term)
            case Evict():
                self.carrier.evict(intent, term)
            case Nominate():
                self.carrier.nominate(intent, term)
            case Free():
                self.carrier.free(intent, term)

    def bind(self, intent: Bind, term: int) -> None:
        self.binds.add(intent.pod.uid)
        self.carrier.bind(intent, term)

    def bind_approved(self, intent: Bind, term: int) -> None:
        self.carrier.bind(intent, term, patience=APPROVED_SECONDS)
