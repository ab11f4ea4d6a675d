"""Live schedulers, the processes that host them, and their decisions.

- ``LiveScheduler``: one per cluster and scheduler name, with its mode and people's orders.
- ``Candidate``: one per process that leads it or stands by, with the state that it reports each second.
- ``LiveDecision``: one per try to place a pod. ``LiveColumns``: every verdict and score of it, if stored.

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
from kschedweb.web.translating import gettext_lazy as _


class Mode(models.TextChoices):
    OFF = "off", _("Off")
    SHADOW = "shadow", _("Shadow")
    EXTENDER = "extender", _("Extender")
    SCHEDULING = "scheduling", _("Scheduling")


class Lock(models.TextChoices):
    """The object of an election, named as in ``--leader-elect-resource-lock``."""

    LEASES = "leases", "Lease"
    ENDPOINTS = "endpoints", "Endpoints"
    ENDPOINTSLEASES = "endpointsleases", "Endpoints and Lease"
    CONFIGMAPS = "configmaps", "ConfigMap"
    CONFIGMAPSLEASES = "configmapsleases", "ConfigMap and Lease"


class Result(models.TextChoices):
    """The outcome of a decision; ``ON_HOLD`` and ``WAITING`` become one of the others."""

    BOUND = "bound", _("Bound")
    ON_HOLD = "held", _("Held for approval")
    WAITING = "waiting", _("Waiting at Permit")
    UNSCHEDULABLE = "unschedulable", _("Unschedulable")
    ERROR = "error", _("Error")
    DENIED = "denied", _("Denied")
    EXPIRED = "expired", _("Expired")
    SUPERSEDED = "superseded", _("Superseded")
    FAILED = "failed", _("Binding failed")


def _range_validators(lowest: int, highest: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(lowest), MaxValueValidator(highest)]


class LiveScheduler(models.Model):
    """A pinned revision of a policy at work in a cluster; only ``services.live_roll_out`` moves it to another."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="live_schedulers")
    # Pods name it in spec.schedulerName.
    scheduler_name = models.CharField(max_length=63)
    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="live_schedulers")
    # Null only if a process of an earlier release wrote the row; see selectors.revision_in_force.
    revision = models.ForeignKey(Revision, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.OFF)
    # People's orders. They are rows and no messages: a broker may lose a message, and a row is still there later.
    paused = models.BooleanField(default=False)
    # Pods still to be tried while paused.
    steps = models.PositiveIntegerField(default=0, validators=_range_validators(0, 1000))
    # Grows with each order to start afresh.
    reloads = models.PositiveIntegerField(default=0)
    # The process that hosts it, and until when no other may: for modes that write nothing, and so have no lock.
    holder = models.CharField(max_length=253, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)
    # Limits of what is stored: decisions, days, and the newest decisions with columns.
    keep_decisions = models.PositiveIntegerField(default=100_000, validators=_range_validators(100, 10_000_000))
    keep_days = models.PositiveIntegerField(default=30, validators=_range_validators(1, 3650))
    keep_columns = models.PositiveIntegerField(default=1_000, validators=_range_validators(0, 100_000))
    # The rate limit of requests to the API server: per second, and at once; 0 for none. kube-scheduler's defaults.
    qps = models.PositiveIntegerField(default=50, validators=_range_validators(0, 100_000))
    burst = models.PositiveIntegerField(default=100, validators=_range_validators(0, 100_000))
    # The lock of its election; "" for the policy's (election/terms.py).
    lock = models.CharField(max_length=16, choices=Lock.choices, blank=True, default="", db_default="")
    lease_namespace = models.CharField(max_length=63, blank=True, default="")
    lease_name = models.CharField(max_length=253, blank=True)
    # The highest epoch of any leader so far, -1 before the first: leaders by another lock count on from here.
    epoch = models.BigIntegerField(default=-1, db_default=-1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)

    # Number of the policy's newest revision; only on rows of selectors.live_list.
    newest: int

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("cluster__name", "scheduler_name")
        constraints = [
            models.UniqueConstraint(fields=["cluster", "scheduler_name"], name="live_scheduler_name_once_a_cluster")
        ]

    def __str__(self) -> str:
        return self.scheduler_name


class Candidate(models.Model):
    """A process that leads a live scheduler or stands by. A row that fell silent is a process that is gone."""

    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="candidates")
    # As in the lock.
    identity = models.CharField(max_length=253)
    # Since its heartbeat; only on rows of selectors.list_alive.
    silent: timedelta
    mode = models.CharField(max_length=16, choices=Mode.choices)
    # The value of terms.election_of by which it takes part.
    election = models.CharField(max_length=400, blank=True, default="", db_default="")
    leading = models.BooleanField(default=False)
    # True once every kind was listed, so that it knows the cluster.
    synced = models.BooleanField(default=False)
    # The lock's transitions while it leads, which order leaders in time.
    epoch = models.PositiveBigIntegerField(default=0)
    started_at = models.DateTimeField()
    # By the database's clock.
    heartbeat = models.DateTimeField(db_index=True)
    # When its loop last turned; older than the heartbeat if the loop hangs.
    ticked_at = models.DateTimeField(null=True)
    # {"active", "backoff", "unschedulable", "gated", "waiting", "held", "binding", "nodes", "pods"}: numbers of pods
    # by queue, of nodes, and of pods on nodes.
    depths = models.JSONField(default=dict)
    # Pods since it started.
    bound = models.PositiveBigIntegerField(default=0)
    # Pods bound per second, over the last 10 seconds.
    rate = models.FloatField(default=0.0)
    # Seconds from creation to binding, of the last 1,000 pods: {"p50", "p99"}; empty before the first.
    latency = models.JSONField(default=dict)
    # [[seconds of the epoch, active, backoff, unschedulable, gated, waiting, pods bound per second, p50 or null]],
    # one every 5 seconds for the last 15 minutes.
    history = models.JSONField(default=list)
    # {"Pod": {"age": seconds since its watch last sent anything, "relists": {"reason": number}, "synced": true}}
    watches = models.JSONField(default=dict)
    # The last comparison by SIGUSR2: {"at": seconds of the epoch, "nodes", "pods", "assumed": numbers, "differences":
    # sentences, the first 20 of "count", "problem": why it could not be made}; {} before the first.
    comparison = models.JSONField(default=dict)
    # The revision in force.
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The last one.
    error = models.CharField(max_length=500, blank=True)
    error_at = models.DateTimeField(null=True)

    objects = Covered("scheduler", part=True)

    class Meta:
        ordering = ("-leading", "started_at")
        constraints = [models.UniqueConstraint(fields=["scheduler", "identity"], name="candidate_once_a_scheduler")]


class LiveDecision(models.Model):
    """One try to place a pod, and its result. ``id`` follows from scheduler, pod, try and time: rows.py."""

    id = models.UUIDField(primary_key=True, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="decisions")
    at = models.DateTimeField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    attempt = models.PositiveIntegerField(default=1)
    result = models.CharField(max_length=16, choices=Result.choices)
    # When the pod was bound, denied and so on; null while it is held or waits.
    ended_at = models.DateTimeField(null=True)
    node = models.CharField(max_length=253, blank=True)
    nominated = models.CharField(max_length=253, blank=True)
    # Numbers of nodes.
    evaluated = models.PositiveIntegerField(default=0)
    feasible = models.PositiveIntegerField(default=0)
    # The best total less the next; null without another node.
    margin = models.BigIntegerField(null=True)
    # Number of equally good nodes from which one was drawn; null if it was not drawn.
    drawn = models.PositiveIntegerField(null=True)
    # [{"node", "total", "scores": {plugin: weighted}}], the chosen one first.
    top = models.JSONField(default=list)
    # {extension point: seconds}
    durations = models.JSONField(default=dict)
    # Seconds from the pod's creation to its binding, without waits for people.
    latency = models.FloatField(null=True)
    # Names of plugins.
    rejected_by = models.JSONField(default=list)
    # As in the pod's condition and event.
    message = models.TextField(blank=True)
    epoch = models.PositiveBigIntegerField(default=0)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The version of kschedweb and the kube-scheduler it decided as, with all gates; "" on rows of old releases.
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
        """Return ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def milliseconds(self) -> float | None:
        """Return the milliseconds from the pod's creation to its binding."""
        return None if self.latency is None else 1000 * self.latency


class LiveColumns(models.Model):
    """Every verdict and score of a decision, in a separate row, so that lists need not read it."""

    decision = models.OneToOneField(LiveDecision, primary_key=True, on_delete=models.CASCADE, related_name="columns")
    # An Explanation, packed by decisions/kept/explanation_bytes.py.
    content = models.BinaryField()

    objects = Covered("decision", part=True)
