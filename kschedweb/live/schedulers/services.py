"""Every change of live schedulers: by people, and by the processes that host them."""

from __future__ import annotations

import re
from copy import copy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from kschedweb.accounts import audit
from kschedweb.clusters.services import CONNECTED
from kschedweb.live.schedulers.election import rivals
from kschedweb.live.schedulers.election.rivals import FORGOTTEN
from kschedweb.live.schedulers.election.terms import LABEL, SUBDOMAIN, election_of, terms_of
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.running.extender_transport import make_transport
from kschedweb.live.schedulers.selectors import (
    ProfileError,
    live_configuration,
    revision_in_force,
    scheduling_configuration,
)
from kschedweb.policies.selectors import load_configuration, profiles_only, revision_get
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, NotFound, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.policies.models import Policy, Revision

# kube-scheduler accepts any name; ours is part of the name of a Lease as well.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
NAME_HELP = gettext_noop(
    "Lower-case letters, digits, hyphens and dots, at most 63, beginning and ending with a letter or digit."
)
MOST_STEPS = 1000
# A host renews its claim every two seconds, so several renewals may fail before another takes over.
HOLD_TIME = timedelta(seconds=10)
# The fields that ``live_change`` may set. Mode and revision have functions of their own.
CHANGEABLE = frozenset(
    {"keep_decisions", "keep_days", "keep_columns", "qps", "burst", "lock", "lease_namespace", "lease_name"}
)


def _field_error(path: str, message: str) -> ApplicationError:
    return Unprocessable(message, errors=[FieldProblem(path=path, message=message)])


def live_create(
    *,
    user: User | None,
    cluster: Cluster,
    scheduler_name: str,
    policy: Policy,
    revision: Revision | None = None,
    mode: str = Mode.OFF,
    **limits: Any,
) -> LiveScheduler:
    """Create a live scheduler in ``mode`` that runs ``revision``, by default the newest one.

    ``limits`` are fields of ``CHANGEABLE``. Raises ``Conflict`` if the name is taken.
    """
    if not NAME.fullmatch(scheduler_name):
        raise _field_error("scheduler_name", NAME_HELP)
    pinned = revision or revision_get(policy)
    _check_extenders(pinned)
    live = LiveScheduler(
        cluster=cluster,
        scheduler_name=scheduler_name,
        policy=policy,
        revision=pinned,
        mode=mode,
        created_by=user,
        changed_by=user,
        changed_at=timezone.now(),
    )
    _set_values(live, limits)
    _check_live(live)
    namesakes = LiveScheduler.objects.filter(cluster=cluster, scheduler_name=scheduler_name)
    message = f"Cluster {cluster.name} has a live scheduler named {scheduler_name} already."
    with conflict_where(namesakes, Conflict.at("scheduler_name", message)):
        live.save(force_insert=True)
        audit.record(user, "live.created", live, _live_name(live), mode=mode, policy=_describe_revision(pinned))
    return live


@transaction.atomic
def live_change(*, user: User | None, live: LiveScheduler, **changes: Any) -> LiveScheduler:
    """Set fields of ``CHANGEABLE``. The process that hosts it takes them over within a second.

    Raises ``Conflict`` if a process that takes part could lead beside the leader by the changed lock.
    """
    live = _lock_live(live)
    before, election = {name: getattr(live, name) for name in changes}, election_of(live)
    _set_values(live, changes)
    _check_live(live)
    if election_of(live) != election:
        rivals.check_change(live, election)
    different = {name: value for name, value in changes.items() if before[name] != value}
    if different:
        live.changed_by, live.changed_at = user, timezone.now()
        live.save(update_fields=[*different, "changed_by", "changed_at"])
        audit.record(user, "live.changed", live, _live_name(live), **different)
    return live


def live_roll_out(*, user: User | None, live: LiveScheduler, revision: Revision, expected: Revision) -> LiveScheduler:
    """Let ``live`` run ``revision``, which may be older or of another policy, within a second.

    ``expected`` is the revision that the person saw in force: ``Conflict`` if another one was rolled out meanwhile.
    """
    # Before the transaction: this resolves names of hosts, which must not happen while the row is locked.
    _check_extenders(revision)
    with transaction.atomic():
        live = _lock_live(live)
        before = revision_in_force(live)
        if before != expected:
            raise Conflict(
                f"{live.scheduler_name} runs {_describe_revision(before)} by now, not {_describe_revision(expected)}: "
                "look at what changes again."
            )
        live.policy, live.revision = revision.policy, revision
        _check_live(live)
        rivals.check_silent(live)
        if before != revision:
            live.changed_by, live.changed_at = user, timezone.now()
            live.save(update_fields=["policy", "revision", "changed_by", "changed_at"])
            moved = {"from": _describe_revision(before), "to": _describe_revision(revision)}
            audit.record(user, "live.rolled-out", live, _live_name(live), **moved)
    return live


def roll_out_problem(live: LiveScheduler, revision: Revision) -> ApplicationError | None:
    """Return why ``revision`` could not be rolled out now, None if it could."""
    trial = copy(live)
    trial.policy, trial.revision = revision.policy, revision
    try:
        _check_extenders(revision)
        _check_live(trial)
        rivals.check_silent(trial)
    except ApplicationError as error:
        return error
    return None


def live_set_mode(*, user: User | None, live: LiveScheduler, mode: str) -> LiveScheduler:
    """Switch to ``mode``. The host ends the old mode in order first. A pause ends with it."""
    if mode == Mode.SCHEDULING:
        _check_extenders(revision_in_force(live))
    with transaction.atomic():
        live = _lock_live(live)
        if live.mode == mode:
            return live
        before, live.mode = live.mode, mode
        live.paused, live.steps = False, 0
        _check_live(live)
        rivals.check_change(live, "")
        live.changed_by, live.changed_at = user, timezone.now()
        live.save(update_fields=["mode", "paused", "steps", "changed_by", "changed_at"])
        audit.record(user, "live.mode-changed", live, _live_name(live), before=before, after=mode)
    return live


@transaction.atomic
def live_pause(*, user: User | None, live: LiveScheduler) -> LiveScheduler:
    """Pause: no further pod is tried. Earlier decisions are still bound, and approvals still count."""
    return _set_paused(user, live, paused=True)


@transaction.atomic
def live_resume(*, user: User | None, live: LiveScheduler) -> LiveScheduler:
    """Resume after ``live_pause``."""
    return _set_paused(user, live, paused=False)


def _set_paused(user: User | None, live: LiveScheduler, *, paused: bool) -> LiveScheduler:
    live = _lock_live(live)
    if live.mode != Mode.SCHEDULING:
        raise Conflict(f"{live.scheduler_name} does not schedule now: only a scheduling one is paused and resumed.")
    if live.paused != paused:
        live.paused, live.steps = paused, 0
        live.save(update_fields=["paused", "steps"])
        audit.record(user, "live.paused" if paused else "live.resumed", live, _live_name(live))
    return live


@transaction.atomic
def live_step(*, user: User | None, live: LiveScheduler, pods: int = 1) -> LiveScheduler:
    """Let the next ``pods`` be tried while it is paused."""
    if not 1 <= pods <= MOST_STEPS:
        raise _field_error("pods", f"From 1 to {MOST_STEPS} pods at a time.")
    live = _lock_live(live)
    if live.mode != Mode.SCHEDULING or not live.paused:
        raise Conflict(f"{live.scheduler_name} is not paused: pause it first.")
    live.steps = min(live.steps + pods, MOST_STEPS)
    live.save(update_fields=["steps"])
    audit.record(user, "live.stepped", live, _live_name(live), pods=pods)
    return live


@transaction.atomic
def live_reload(*, user: User | None, live: LiveScheduler) -> LiveScheduler:
    """Let the host list the cluster afresh and forget all it knew."""
    LiveScheduler.objects.filter(pk=live.pk).update(reloads=F("reloads") + 1)
    live = _lock_live(live)
    audit.record(user, "live.reloaded", live, _live_name(live))
    return live


@transaction.atomic
def live_delete(*, user: User | None, live: LiveScheduler) -> None:
    """Delete it with all its decisions. Raise ``Conflict`` unless it is off."""
    live = _lock_live(live)
    if live.mode != Mode.OFF:
        raise Conflict(f"{live.scheduler_name} is in mode {live.mode}: switch it off first.")
    audit.record(user, "live.deleted", live, _live_name(live))
    live.delete()


def _lock_live(live: LiveScheduler) -> LiveScheduler:
    """Lock and return the row; pin its revision if a process of an earlier release wrote it."""
    rows = LiveScheduler.objects.select_for_update(of=("self",)).select_related("cluster", "policy", "revision")
    row = rows.filter(pk=live.pk).first()
    if row is None:
        raise NotFound(f"The live scheduler {live.scheduler_name} was deleted in the meantime.")
    if row.revision is None:
        row.revision = revision_in_force(row)
        row.save(update_fields=["revision"])
    return row


def _set_values(live: LiveScheduler, values: dict[str, object]) -> None:
    unknown = set(values) - CHANGEABLE
    if unknown:
        raise TypeError(f"not settings of a live scheduler: {', '.join(sorted(unknown))}")
    for name, value in values.items():
        setattr(live, name, value)


def _check_live(live: LiveScheduler) -> None:
    """Raise ApplicationError with the field that keeps it from working."""
    if live.mode not in Mode.values:
        raise _field_error("mode", f"Choose one of {', '.join(Mode.values)}.")
    if live.mode != Mode.OFF and live.cluster.source not in CONNECTED:
        raise _field_error("cluster", f"Cluster {live.cluster.name} is not connected: there is nobody to talk to.")
    if live.revision is not None and live.revision.policy_id != live.policy_id:
        raise _field_error("revision", "The revision is one of another policy.")
    profiles_only(revision_in_force(live), "policy")
    try:
        usable = scheduling_configuration if live.mode == Mode.SCHEDULING else live_configuration
        usable(live, revision_in_force(live))
    except ProfileError as error:
        raise _field_error("policy", str(error)) from None
    for name, label in (("lease_namespace", "namespace"), ("lease_name", "name")):
        value = getattr(live, name)
        if value and not (LABEL if name == "lease_namespace" else SUBDOMAIN).fullmatch(value):
            raise _field_error(name, f"This is no {label} in Kubernetes. {NAME_HELP}")
    if live.mode == Mode.SCHEDULING and (problem := terms_of(live).problem):
        raise _field_error("policy", problem)
    if live.qps and live.burst < 1:
        raise _field_error("burst", "With a limit a second, at least 1 request must be let through at once.")
    try:
        live.clean_fields(exclude=["cluster", "policy", "revision", "created_by", "changed_by"])
    except ValidationError as error:
        problems = [
            FieldProblem(path=path, message=message) for path, texts in error.message_dict.items() for message in texts
        ]
        raise Unprocessable("The live scheduler cannot be like this.", errors=problems) from None


def _check_extenders(revision: Revision) -> None:
    """Raise ApplicationError if an extender may not be called. It resolves names, so call it while no row is locked."""
    make_transport(load_configuration(profiles_only(revision, "policy")).extenders)


def _live_name(live: LiveScheduler) -> str:
    return f"{live.cluster.name}/{live.scheduler_name}"


def _describe_revision(revision: Revision) -> str:
    """Return a revision in words, for the audit trail and for people."""
    return f"{revision.policy.name} revision {revision.number}"


# Written by the process that hosts it.


def steps_take(*, live: LiveScheduler) -> int:
    """Take the steps that ``live`` (as it was read) asks for. Return 0 if another process has taken them."""
    updated = LiveScheduler.objects.filter(pk=live.pk, steps=live.steps).update(steps=0)
    return live.steps if updated else 0


def host_claim(*, live: LiveScheduler, identity: str) -> bool:
    """Return whether ``identity`` hosts ``live`` for the next seconds: it did so before, or nobody does."""
    free = Q(holder=identity) | Q(holder="") | Q(held_until=None) | Q(held_until__lt=Now())
    rows = LiveScheduler.objects.filter(free, pk=live.pk)
    return rows.update(holder=identity, held_until=Now() + HOLD_TIME) == 1


def host_leave(*, live: LiveScheduler, identity: str) -> None:
    """Give the claim up, so that other processes can host ``live`` at once."""
    LiveScheduler.objects.filter(pk=live.pk, holder=identity).update(holder="", held_until=None)


@transaction.atomic
def candidate_join(*, live: LiveScheduler, identity: str, started_at: datetime) -> bool:
    """Record by which election a process will take part, before it does.

    Returns False if ``live`` has changed since it was read, or if another process takes part by a lock that would not
    exclude this one, because a revision with another lock was rolled out. ``live_change`` locks the same row, so it
    knows all processes that may lead.
    """
    election = election_of(live)
    if election_of(_lock_live(live)) != election or rivals.find_rivals(live).exclude(identity=identity).exists():
        return False
    values = {"mode": live.mode, "election": election, "started_at": started_at, "heartbeat": Now()}
    _candidate_keep(live, identity, values)
    return True


def _candidate_keep(live: LiveScheduler, identity: str, values: dict[str, object]) -> None:
    """Write the row of a process that had none, and delete rows that have been silent for long."""
    Candidate.objects.filter(scheduler_id=live.pk, heartbeat__lt=Now() - FORGOTTEN).delete()
    Candidate.objects.update_or_create(scheduler_id=live.pk, identity=identity, defaults=values)


@transaction.atomic
def candidate_beat(
    *,
    live: LiveScheduler,
    identity: str,
    started_at: datetime,
    silent: float,
    revision: int | None,
    report: dict[str, Any],
) -> None:
    """Record a heartbeat with the state of a process. ``silent`` is the seconds since its loop last turned."""
    values = {
        "mode": live.mode,
        "election": election_of(live),
        "started_at": started_at,
        "heartbeat": Now(),
        "ticked_at": Now() - timedelta(seconds=silent),
        "revision_id": revision,
        **report,
    }
    if not Candidate.objects.filter(scheduler_id=live.pk, identity=identity).update(**values):
        _candidate_keep(live, identity, values)
    # The highest epoch is stored with the scheduler: a leader by another lock must continue from it.
    led = report.get("epoch", -1) if report.get("leading") else -1
    if led > live.epoch:
        LiveScheduler.objects.filter(pk=live.pk, epoch__lt=led).update(epoch=led)
        live.epoch = led


def candidate_leave(*, live: LiveScheduler, identity: str) -> None:
    """Delete the row of a process that no longer takes part."""
    Candidate.objects.filter(scheduler_id=live.pk, identity=identity).delete()
