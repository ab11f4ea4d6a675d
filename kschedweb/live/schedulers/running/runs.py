"""Make the run that hosts a live scheduler, by its mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kschedweb.engine.extenders.extender import Extenders
from kschedweb.live.schedulers.election.terms import terms_of
from kschedweb.live.schedulers.metrics import Instruments
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.running.connection import Connection
from kschedweb.live.schedulers.running.extender_transport import make_transport
from kschedweb.live.schedulers.running.live_run import LiveRun
from kschedweb.live.schedulers.selectors import ProfileError, revision_in_force, scheduling_configuration
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.state.watermarks.table import Watermarks


class HostedRun(Protocol):
    """The host of one live scheduler, in any mode."""

    # Monotonic seconds of its last turn.
    ticked: float
    # Why it ended by itself, "" otherwise.
    problem: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def alive(self) -> bool: ...

    @property
    def leading(self) -> bool: ...

    def command(self, paused: bool, steps: int) -> None: ...

    def update_watermarks(self, watermarks: Watermarks | None) -> None: ...

    def compare(self) -> None: ...

    def hand_over(self) -> None: ...

    def report(self) -> dict[str, Any]: ...


Factory = Callable[[LiveScheduler, str], HostedRun]
_factories: dict[str, Factory] = {}


def register_factory(mode: str, factory: Factory) -> None:
    """Register ``factory`` for the runs of ``mode``; an app above this one calls this when it is ready."""
    _factories[mode] = factory


def make_run(row: LiveScheduler, identity: str) -> HostedRun | None:
    """Return the run of ``row``, not started; None for a mode that needs none here. Raises ApplicationError."""
    if row.mode == Mode.SCHEDULING:
        return _make_live_run(row, identity)
    factory = _factories.get(row.mode)
    return factory(row, identity) if factory is not None else None


def _make_live_run(row: LiveScheduler, identity: str) -> LiveRun:
    revision = revision_in_force(row)
    try:
        configuration = scheduling_configuration(row, revision)
    except ProfileError as error:
        raise Unprocessable(str(error)) from None
    terms = terms_of(row)
    if terms.problem:
        raise Unprocessable(terms.problem)
    extenders = None
    if configuration.extenders:
        extenders = Extenders(configuration.extenders, make_transport(configuration.extenders))
    return LiveRun(
        row,
        revision=revision.pk,
        configuration=configuration,
        connection=Connection(row, identity),
        instruments=Instruments(row.cluster.name, row.scheduler_name, terms.name),
        extenders=extenders,
    )
