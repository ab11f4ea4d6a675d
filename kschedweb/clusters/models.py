"""Clusters, the credentials to read them, and the snapshots read from them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.jobs.models import Job
from kschedweb.web.translating import gettext_lazy as _


class ClusterSource(models.TextChoices):
    DEMO = "demo", _("Demo")
    IMPORT = "import", _("Imported files")
    KUBECONFIG = "kubeconfig", "Kubeconfig"
    TOKEN = "token", _("Server and token")
    IN_CLUSTER = "in-cluster", _("The cluster kschedweb runs in")
    SANDBOX = "sandbox", _("Sandbox")


# Sources of clusters whose objects may be much older than the moment at which they came here.
FIXED_SOURCES = frozenset({ClusterSource.DEMO, ClusterSource.IMPORT})


class Cluster(models.Model):
    """A connected, imported or generated Kubernetes cluster."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=63, unique=True)
    source = models.CharField(max_length=16, choices=ClusterSource.choices)
    server = models.CharField(max_length=500, blank=True)
    server_version = models.CharField(max_length=64, blank=True)
    # True if guessed from the kubelets of an import.
    version_guessed = models.BooleanField(default=False, db_default=False)
    # From access reviews: [{"resource": "pods", "verb": "list", "allowed": true, "costs": "…"}].
    permissions = models.JSONField(default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    refreshed_at = models.DateTimeField(null=True)
    # Why the last reading failed; "" if it did not.
    refresh_error = models.CharField(max_length=500, blank=True)
    # When a reading was last asked for, by a person or by the schedule.
    refresh_asked_at = models.DateTimeField(null=True)
    # {"env": "prod"}; grants name many clusters by these.
    labels = models.JSONField(default=dict, db_default={})
    # Minutes between two readings; 0: only by hand.
    refresh_minutes = models.PositiveSmallIntegerField(default=0, db_default=0)
    # When its Events were last read; of files the time of the newest, of the demo its own.
    events_read_at = models.DateTimeField(null=True)
    # Why not all of them could be read; "" if they were.
    events_problem = models.CharField(max_length=500, blank=True, default="", db_default="")

    objects = Covered(rule=lambda reach: models.Q(pk__in=reach.clusters | reach.parts.keys()), part=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class AllowedAddress(models.Model):
    """An entry of the allowlist of clusters that an administrator added, beside those of the operator's setting."""

    # A network, an address, a host name or a *.suffix, as ``allowed_addresses.entry_normalise`` writes it.
    entry = models.CharField(max_length=255, unique=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("entry",)

    def __str__(self) -> str:
        return self.entry


class SealedRow(models.Model):
    """An encrypted secret (credentials.py), which is never shown or serialised. Its primary key is the owner's id."""

    # Authenticated with the text and the owner, so that a secret cannot be used for another purpose.
    purpose = b""
    # The kind of the owner, for messages.
    kind = ""

    # The id of the key that encrypted it.
    key_id = models.CharField(max_length=16)
    ciphertext = models.BinaryField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @property
    def opens(self) -> str:
        """The name of the owner."""
        raise NotImplementedError


class Sealed(SealedRow):
    """An encrypted secret of a cluster."""

    kind = "cluster"

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="%(class)s")

    objects = Covered("cluster")

    class Meta:
        abstract = True

    @property
    def opens(self) -> str:
        return self.cluster.name


class Credential(Sealed):
    """The credentials of a cluster."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="credential")


class Snapshot(models.Model):
    """A cluster's objects at one time, compressed. It is immutable once ``complete``; the newest complete one is
    current.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="snapshots")
    taken_at = models.DateTimeField(db_index=True)
    # Only of a snapshot rebuilt from the flight recorder, which is never the current one: the time it shows, and when
    # it was rebuilt.
    moment = models.DateTimeField(null=True)
    rebuilt = models.DateTimeField(null=True)
    complete = models.BooleanField(default=False)
    # Compressed JSON, a list of objects by kind (storage.py).
    content = models.BinaryField()
    # Bytes before compression.
    size = models.PositiveBigIntegerField()
    # {"Node": 12, "Pod": 340, …}; "pending" counts pods as well.
    counts = models.JSONField(default=dict)
    # [{"object": "Pod default/x", "reason": "…"}]; see rows.Problem.
    problems = models.JSONField(default=list)
    # Where the watches of a refresh start, by kind.
    resource_versions = models.JSONField(default=dict)

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("-taken_at", "-id")


class Upload(models.Model):
    """Files from which a job makes a cluster. They are deleted when the job has ended."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The name of the cluster.
    name = models.CharField(max_length=63)
    # True if the cluster may exist already.
    replace = models.BooleanField()
    # The version of Kubernetes that the person gave; "" for none.
    version = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Bytes.
    size = models.PositiveBigIntegerField(default=0)
    job = models.ForeignKey(Job, null=True, on_delete=models.CASCADE, related_name="+")
    # The cluster that was created for the files.
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("cluster", visible_to_creator=True)


class UploadPiece(models.Model):
    """A chunk of a file. All chunks in order are the files."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="pieces")
    # From 0.
    number = models.PositiveIntegerField()
    # The index of its file.
    place = models.PositiveIntegerField()
    file = models.CharField(max_length=255)
    # Compressed with zlib.
    content = models.BinaryField()

    objects = Covered("upload")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="piece_number_once_an_upload")]


class NodeRow(models.Model):
    """A row of the node list. The object itself is in the snapshot."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=253)
    zone = models.CharField(max_length=253, blank=True)
    region = models.CharField(max_length=253, blank=True)
    instance_type = models.CharField(max_length=253, blank=True)
    ready = models.BooleanField(default=True)
    unschedulable = models.BooleanField(default=False)
    # As kubectl writes them: ["key=value:NoSchedule"].
    taints = models.JSONField(default=list)
    # Millicores.
    cpu_allocatable = models.BigIntegerField()
    cpu_requested = models.BigIntegerField()
    # Bytes.
    memory_allocatable = models.BigIntegerField()
    memory_requested = models.BigIntegerField()
    pods_allocatable = models.BigIntegerField()
    pods_bound = models.BigIntegerField()
    # Requests in thousandths of allocatable, so that lists sort in SQL.
    cpu_share = models.IntegerField(default=0)
    memory_share = models.IntegerField(default=0)
    # {"nvidia.com/gpu": [requested, allocatable]}.
    extended = models.JSONField(default=dict)
    # Null in snapshots from before labels were kept.
    labels = models.JSONField(null=True)

    objects = Covered("snapshot", part=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=["snapshot", "name"], name="node_once_a_snapshot")]


class PodRow(models.Model):
    """A row of the pod list."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="pods")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=253)
    # "" while it waits.
    node = models.CharField(max_length=253, blank=True)
    pending = models.BooleanField()
    phase = models.CharField(max_length=16, blank=True)
    gated = models.BooleanField(default=False)
    scheduler_name = models.CharField(max_length=253)
    priority = models.IntegerField(default=0)
    # "ReplicaSet/web-7f9c"; "" for none.
    owner = models.CharField(max_length=320, blank=True)
    # The PodGroup of its namespace that it names; "" for none, and in snapshots from before this was kept.
    pod_group = models.CharField(max_length=253, blank=True, default="", db_default="")
    # Millicores.
    cpu_request = models.BigIntegerField()
    # Bytes.
    memory_request = models.BigIntegerField()
    created_at = models.DateTimeField(null=True)
    # The message of the PodScheduled condition, from the cluster's own scheduler; "" for none.
    message = models.TextField(blank=True)

    objects = Covered("snapshot", namespace="namespace")

    class Meta:
        ordering = ("-pending", "namespace", "name", "id")
        constraints = [models.UniqueConstraint(fields=["snapshot", "namespace", "name"], name="pod_once_a_snapshot")]
        indexes = [models.Index(fields=["snapshot", "-pending", "namespace", "name"])]


class EventRow(models.Model):
    """An Event of the cluster: the words of its own scheduler, autoscalers and controllers about one object.

    A ring (events/ring.py): each cluster keeps the newest ones, also after the cluster itself has forgotten them.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="events")
    # Of the Event. A repeated one keeps it, and counts on.
    uid = models.CharField(max_length=320)
    # The object that it is about. The namespace is "" for one without, such as a node.
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    # Tells a pod from an earlier one of the same name; "" if unknown.
    object_uid = models.CharField(max_length=253, blank=True)
    # Normal or Warning.
    type = models.CharField(max_length=16)
    reason = models.CharField(max_length=128, blank=True)
    message = models.TextField(blank=True)
    # The program that wrote it, such as default-scheduler or karpenter.
    source = models.CharField(max_length=253, blank=True)
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    # An Event of a node may name pods of any namespace, so people who see a part of the cluster see none of these.
    objects = Covered("cluster", namespace="namespace")

    class Meta:
        ordering = ("-last_at", "-id")
        constraints = [models.UniqueConstraint(fields=["cluster", "uid"], name="event_once_a_cluster")]
        indexes = [
            models.Index(fields=["cluster", "-last_at"]),
            models.Index(fields=["cluster", "kind", "namespace", "name"]),
        ]

    @property
    def seconds(self) -> float:
        """The time over which it was repeated."""
        return (self.last_at - self.first_at).total_seconds()
