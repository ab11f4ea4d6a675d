"""Verdicts, reached as REST reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.gate.models import Gate


def gate(user: User, snapshot: Snapshot) -> Gate:
    """A policy that fills nodes up, on ``snapshot``: some of its pods move, which is not allowed."""
    from kschedweb.engine.studies.gate.gate import DEFAULTS, GatePolicy
    from kschedweb.engine.studies.gate.thresholds import read_thresholds
    from kschedweb.playground.gate import services
    from kschedweb.playground.gate.invocation import about_snapshot
    from tests.support.seed_runs import PACKED

    question = services.GateRequest(
        policy=GatePolicy("packed.yaml", PACKED),
        baseline=GatePolicy(DEFAULTS),
        thresholds=read_thresholds({"maxMoved": 0, "maxSkewIncrease": 100}),
        subject=about_snapshot(snapshot),
        snapshot=snapshot,
    )
    return services.gate_ask(user=user, question=question)


def gates(rows: int, user: User, snapshot: str) -> str:
    """``rows`` verdicts; the id of one."""
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.gate.models import Gate

    verdict = gate(user, Snapshot.objects.select_related("cluster").get(pk=snapshot))
    first = verdict.pk
    for _ in range(rows - 1):
        copied = Gate.objects.get(pk=first)
        copied.pk = None
        copied._state.adding = True
        copied.id = Gate._meta.pk.get_default()
        copied.save()
    return str(first)
