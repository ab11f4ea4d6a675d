"""Live schedulers, the processes that take part in them, and what they decided.

- ``LiveScheduler``: one a cluster and scheduler name; what it does there, and what a person asked of it.
- ``Candidate``: one a process that leads it or stands by, with what it says of itself each second.
- ``LiveDecision``: one a try to place a pod. ``LiveColumns``: every verdict and score of it, where they were kept.

Change settings through services.py. Candidates and decisions are written by the process that hosts the scheduler.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster
from kschedweb.policies.models import Policy, Revision


class Mode(models.TextChoices):
    OFF = "off", "Off"
    SHADOW = "shadow", "Shadow"
    EXTENDER = "extender", "Extender"
    SCHEDULING = "scheduling", "Scheduling"


class Lock(models.TextChoices):
    """What an election is about, named as in ``--leader-elect-resource-lock``."""

    LEASES = "leases", "Lease"
    ENDPOINTS = "endpoints", "Endpoints"
    ENDPOINTSLEASES = "endpointsleases", "Endpoints and Lease"
    CONFIGMAPS = "configmaps", "ConfigMap"
    CONFIGMAPSLEASES = "configmapsleases", "ConfigMap and Lease"


class Result(models.TextChoices):
    """What came of a decision; ``ON_HOLD`` and ``WAITING`` become one of the others."""

    BOUND = "bound", "Bound"
    ON_HOLD = "held", "Held for approval"
    WAITING = "waiting", "Waiting at Permit"
    UNSCHEDULABLE = "unschedulable", "Unschedulable"
    ERROR = "error", "Error"
    DENIED = "denied", "Denied"
    EXPIRED = "expired", "Expired"
    SUPERSEDED = "superseded", "Superseded"
    FAILED = "failed", "Binding failed"


def _range_validators(lowest: int, highest: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(lowest), MaxValueValidator(highest)]


class LiveScheduler(models.Model):
    """A pinned revision of a policy at work in a cluster; it moves to another by ``services.live_roll_out`` alone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="live_schedulers")
    scheduler_name = models.CharField(max_length=63)  # pods name it in spec.schedulerName
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="live_schedulers")
    # Null only where a process of an earlier release wrote the row: selectors.revision_in_force.
    revision = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.OFF)
    # What a person asked for. Rows rather than messages: a message may be lost with its broker, a row is there later.
    paused = models.BooleanField(default=False)
    steps = models.PositiveIntegerField(
        default=0, validators=_range_validators(0, 1000)
    )  # pods still to be tried while paused
    reloads = models.PositiveIntegerField(default=0)  # grows with each wish to begin anew
    # Which process hosts it, and until when nobody else does: for modes that write nothing, so that no lock is there.
    holder = models.CharField(max_length=253, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)
    # What is kept.
    keep_decisions = models.PositiveIntegerField(default=100_000, validators=_range_validators(100, 10_000_000))
    keep_days = models.PositiveIntegerField(default=30, validators=_range_validators(1, 3650))
    keep_columns = models.PositiveIntegerField(
        default=1_000, validators=_range_validators(0, 100_000)
    )  # newest decisions
    # How fast the API server is asked: requests a second and how many at once; 0: no limit. kube-scheduler's defaults.
    qps = models.PositiveIntegerField(default=50, validators=_range_validators(0, 100_000))
    burst = models.PositiveIntegerField(default=100, validators=_range_validators(0, 100_000))
    # The lock of its election, of whatever kind; "": as the policy says (election/terms.py).
    lock = models.CharField(max_length=16, choices=Lock.choices, blank=True, default="", db_default="")
    lease_namespace = models.CharField(max_length=63, blank=True, default="")
    lease_name = models.CharField(max_length=253, blank=True)
    # The highest epoch of any leader that was heard of: what leads by another lock counts on from here. -1: none yet
    epoch = models.BigIntegerField(default=-1, db_default=-1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)

    newest: int  # number of the policy's newest revision, where selectors.live_list read it

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("cluster__name", "scheduler_name")
        constraints = [
            models.UniqueConstraint(fields=["cluster", "scheduler_name"], name="live_scheduler_name_once_a_cluster")
        ]

    def __str__(self) -> str:
        return self.scheduler_name


class Candidate(models.Model):
    """A process that leads a live scheduler or stands by; a row that fell silent is a process that is gone."""

    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="candidates")
    identity = models.CharField(max_length=253)  # as in the lock
    silent: timedelta  # since its heartbeat; only on rows of selectors.alive
    mode = models.CharField(max_length=16, choices=Mode.choices)
    # terms.election_of by which it takes part
    election = models.CharField(max_length=400, blank=True, default="", db_default="")
    leading = models.BooleanField(default=False)
    synced = models.BooleanField(default=False)  # every kind was listed: it knows the cluster
    epoch = models.PositiveBigIntegerField(default=0)  # the lock's transitions while it leads: orders leaders in time
    started_at = models.DateTimeField()
    heartbeat = models.DateTimeField(db_index=True)  # by the database's clock
    ticked_at = models.DateTimeField(null=True)  # when its loop last went round: older than the heartbeat if it hangs
    # {"active", "backoff", "unschedulable", "gated", "waiting", "held", "binding", "nodes", "pods"}: numbers of pods
    # by where they are, of nodes, and of pods on nodes
    depths = models.JSONField(default=dict)
    bound = models.PositiveBigIntegerField(default=0)  # since it started
    rate = models.FloatField(default=0.0)  # pods bound a second, over the last 10 seconds
    # Seconds from a pod's creation to its binding, of the last 1,000 bound: {"p50", "p99"}; empty where there are none
    latency = models.JSONField(default=dict)
    # [[seconds of the epoch, active, backoff, unschedulable, gated, waiting, pods bound a second, p50 or null]],
    # one each 5 seconds, the last 15 minutes
    history = models.JSONField(default=list)
    # {"Pod": {"age": seconds since its watch last said anything, "relists": {"reason": number}, "synced": true}}
    watches = models.JSONField(default=dict)
    # What SIGUSR2 had compared with a fresh list: {"at": seconds of the epoch, "nodes", "pods", "assumed": numbers,
    # "differences": sentences, the first 20 of "count", "problem": why it could not be compared}; {} before
    comparison = models.JSONField(default=dict)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")  # at work
    error = models.CharField(max_length=500, blank=True)  # the last one
    error_at = models.DateTimeField(null=True)

    objects = Covered("scheduler", part=True)

    class Meta:
        ordering = ("-leading", "started_at")
        constraints = [models.UniqueConstraint(fields=["scheduler", "identity"], name="candidate_once_a_scheduler")]


class LiveDecision(models.Model):
    """One try to place a pod, and what came of it. ``id`` follows from scheduler, pod, try and time: rows.py."""

    id = models.UUIDField(primary_key=True, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="decisions")
    at = models.DateTimeField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    attempt = models.PositiveIntegerField(default=1)
    result = models.CharField(max_length=16, choices=Result.choices)
    ended_at = models.DateTimeField(null=True)  # when the pod was bound, denied, …; null while it is held or waits
    node = models.CharField(max_length=253, blank=True)
    nominated = models.CharField(max_length=253, blank=True)
    evaluated = models.PositiveIntegerField(default=0)  # nodes
    feasible = models.PositiveIntegerField(default=0)  # nodes
    margin = models.BigIntegerField(null=True)  # the best total less the next; null without another node
    drawn = models.PositiveIntegerField(null=True)  # among how many equally good nodes; null where it was not
    top = models.JSONField(default=list)  # [{"node", "total", "scores": {plugin: weighted}}], the chosen one first
    durations = models.JSONField(default=dict)  # {extension point: seconds}
    latency = models.FloatField(null=True)  # seconds from the pod's creation to its binding, without waits for people
    rejected_by = models.JSONField(default=list)  # plugins
    message = models.TextField(blank=True)  # as the pod's condition and event say it
    epoch = models.PositiveBigIntegerField(default=0)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The version of kschedweb and the kube-scheduler it decided as, with all gates; "": nobody noted it.
    engine = models.CharField(max_length=20_000, blank=True, default="", db_default="")
    has_columns = models.BooleanField(default=False)

    objects = Covered("scheduler", namespace="namespace")

    class Meta:
        ordering = ("-at", "-id")
        indexes = [
            models.Index(fields=["scheduler", "-at", "-id"], name="decision_newest"),
            models.Index(fields=["scheduler", "result", "-at", "-id"], name="decision_result_newest"),
            models.Index(fields=["scheduler", "namespace", "name", "-at"], name="decision_by_pod"),
            models.Index(fields=["scheduler", "namespace", "-at", "-id"], name="decision_by_namespace"),
            models.Index(fields=["scheduler", "node", "-at", "-id"], name="decision_by_node"),
            models.Index(fields=["uid"], name="decision_by_uid"),
            models.Index(
                fields=["scheduler", "-at", "-id"], condition=models.Q(has_columns=True), name="decision_with_columns"
            ),
        ]

    @property
    def pod(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def milliseconds(self) -> float | None:
        """From the pod's creation to its binding."""
        return None if self.latency is None else 1000 * self.latency


class LiveColumns(models.Model):
    """Every verdict and score of a decision, in a separate row, so that lists need not read it."""

    decision = models.OneToOneField(LiveDecision, primary_key=True, on_delete=models.CASCADE, related_name="columns")
    content = models.BinaryField()  # columns.py: an Explanation

    objects = Covered("decision", part=True)
