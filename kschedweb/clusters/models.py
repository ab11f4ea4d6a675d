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


class Cluster(models.Model):
    """A connected, imported or generated Kubernetes cluster."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=63, unique=True)
    source = models.CharField(max_length=16, choices=ClusterSource.choices)
    server = models.CharField(max_length=500, blank=True)
    server_version = models.CharField(max_length=64, blank=True)
    version_guessed = models.BooleanField(default=False, db_default=False)  # from the kubelets of an import
    # [{"resource": "pods", "verb": "list", "allowed": true, "costs": "…"}], from access reviews
    permissions = models.JSONField(default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    refreshed_at = models.DateTimeField(null=True)
    refresh_error = models.CharField(max_length=500, blank=True)
    refresh_asked_at = models.DateTimeField(null=True)
    labels = models.JSONField(default=dict, db_default={})  # {"env": "prod"}, by which grants name many clusters
    refresh_minutes = models.PositiveSmallIntegerField(default=0, db_default=0)  # between two readings; 0: by hand

    objects = Covered(rule=lambda reach: models.Q(pk__in=reach.clusters | reach.parts.keys()), part=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class SealedRow(models.Model):
    """An encrypted secret (credentials.py), which is never shown or serialised. Its primary key is the owner's id."""

    purpose = b""  # authenticated with the text and the owner, so that a secret cannot be used for another purpose
    kind = ""  # kind of the owner

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
    """A cluster's objects at one time, compressed. Immutable once ``complete``; the newest complete one is current."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="snapshots")
    taken_at = models.DateTimeField(db_index=True)
    # Of a snapshot rebuilt from the flight recorder: as of when, and when it was rebuilt. It is never the current one.
    moment = models.DateTimeField(null=True)
    rebuilt = models.DateTimeField(null=True)
    complete = models.BooleanField(default=False)
    content = models.BinaryField()  # storage.py: compressed JSON, a list of objects by kind
    size = models.PositiveBigIntegerField()  # bytes before compression
    counts = models.JSONField(default=dict)  # {"Node": 12, "Pod": 340, …}
    problems = models.JSONField(default=list)  # [{"object": "Pod default/x", "reason": "…"}]
    resource_versions = models.JSONField(default=dict)  # starting points of the watches of a refresh

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("-taken_at", "-id")


class Upload(models.Model):
    """Files from which a job makes a cluster; deleted when the job has ended."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63)  # of the cluster
    replace = models.BooleanField()  # whether it may exist
    version = models.CharField(max_length=64, blank=True, default="", db_default="")  # as the person says it
    size = models.PositiveBigIntegerField(default=0)  # bytes
    job = models.ForeignKey(Job, null=True, on_delete=models.CASCADE, related_name="+")
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="+")  # created for it
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("cluster", visible_to_creator=True)


class UploadPiece(models.Model):
    """A chunk of a file; all chunks in order are the files."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="pieces")
    number = models.PositiveIntegerField()  # from 0
    place = models.PositiveIntegerField()  # index of its file
    file = models.CharField(max_length=255)
    content = models.BinaryField()  # zlib

    objects = Covered("upload")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="piece_number_once_an_upload")]


class NodeRow(models.Model):
    """A row of the node list; the object itself is in the snapshot."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=253)
    zone = models.CharField(max_length=253, blank=True)
    region = models.CharField(max_length=253, blank=True)
    instance_type = models.CharField(max_length=253, blank=True)
    ready = models.BooleanField(default=True)
    unschedulable = models.BooleanField(default=False)
    taints = models.JSONField(default=list)  # ["key=value:NoSchedule"]
    cpu_allocatable = models.BigIntegerField()  # millicores
    cpu_requested = models.BigIntegerField()
    memory_allocatable = models.BigIntegerField()  # bytes
    memory_requested = models.BigIntegerField()
    pods_allocatable = models.BigIntegerField()
    pods_bound = models.BigIntegerField()
    # Requests in thousandths of allocatable, so that lists sort in SQL.
    cpu_share = models.IntegerField(default=0)
    memory_share = models.IntegerField(default=0)
    extended = models.JSONField(default=dict)  # {"nvidia.com/gpu": [requested, allocatable]}
    labels = models.JSONField(null=True)  # null in snapshots of before this was kept

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
    node = models.CharField(max_length=253, blank=True)  # "" while pending
    pending = models.BooleanField()
    phase = models.CharField(max_length=16, blank=True)
    gated = models.BooleanField(default=False)
    scheduler_name = models.CharField(max_length=253)
    priority = models.IntegerField(default=0)
    owner = models.CharField(max_length=320, blank=True)  # "ReplicaSet/web-7f9c"
    # The PodGroup of its namespace that it names; "" for none, and in snapshots of before this was kept.
    pod_group = models.CharField(max_length=253, blank=True, default="", db_default="")
    cpu_request = models.BigIntegerField()  # millicores
    memory_request = models.BigIntegerField()  # bytes
    created_at = models.DateTimeField(null=True)
    # Message of the PodScheduled condition from the cluster's own scheduler, or "".
    message = models.TextField(blank=True)

    objects = Covered("snapshot", namespace="namespace")

    class Meta:
        ordering = ("-pending", "namespace", "name", "id")
        constraints = [models.UniqueConstraint(fields=["snapshot", "namespace", "name"], name="pod_once_a_snapshot")]
        indexes = [models.Index(fields=["snapshot", "-pending", "namespace", "name"])]
