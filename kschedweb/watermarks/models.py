"""Sources of figures, and the collected figures.

- ``WatermarkSource``: one a cluster; how it is asked, how often, how long figures are kept, and how the last run went.
- ``WatermarkCredential``: what opens a Prometheus, sealed as the credentials of clusters are.
- ``Members``: the names of the objects that a sample is about, in the order of its values; a new row only when the
  set changes.
- ``Series``: one figure (figures.py) of one cluster. ``Sample``: its values at one time for all objects, packed.
- ``Annotating``: one a cluster; whether figures are written to its nodes and workloads, and how that went.

Use selectors.py for reading, storage.py for writing samples, services.py for settings.
"""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster, Sealed
from kschedweb.engine.state.watermarks.crane import DEFAULT_TIME_ZONE
from kschedweb.web.translating import gettext_lazy as _


class SourceKind(models.TextChoices):
    NONE = "none", _("None")
    PROMETHEUS = "prometheus", "Prometheus"
    METRICS = "metrics.k8s.io", "metrics.k8s.io (metrics-server)"


class Unit(models.TextChoices):
    """What a node's figure from Prometheus is; it is stored as percent of allocatable."""

    CAPACITY_PERCENT = "capacity-percent", _("Percent of the machine (0-100)")
    CAPACITY_RATIO = "capacity-ratio", _("Ratio of the machine (0-1)")
    ALLOCATABLE_PERCENT = "allocatable-percent", _("Percent of allocatable (0-100)")
    ALLOCATABLE_RATIO = "allocatable-ratio", _("Ratio of allocatable (0-1)")
    ABSOLUTE = "absolute", _("Cores and bytes")


class Authentication(models.TextChoices):
    NONE = "none", _("None")
    BEARER = "bearer", _("Bearer token")
    BASIC = "basic", _("User name and password")


def _range_validators(minimum: int, maximum: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(minimum), MaxValueValidator(maximum)]


class WatermarkSource(models.Model):
    """The source of figures of ``cluster``, with its last run. A cluster without a row has no source."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="watermark_source")
    kind = models.CharField(max_length=16, choices=SourceKind.choices, default=SourceKind.NONE)
    address = models.CharField(max_length=500, blank=True)
    authentication = models.CharField(max_length=8, choices=Authentication.choices, default=Authentication.NONE)
    has_ca = models.BooleanField(default=False)
    node_label = models.CharField(max_length=100, default="instance")  # the label with the node's name
    unit = models.CharField(max_length=24, choices=Unit.choices, default=Unit.CAPACITY_PERCENT)
    queries = models.JSONField(default=dict)  # {"node/cpu/15m": "PromQL"}; a figure without one is not collected
    interval = models.PositiveIntegerField(default=60, validators=_range_validators(30, 3600))  # seconds
    # How long samples are kept: as collected, rolled up to 5 minutes, rolled up to 1 hour.
    keep_hours = models.PositiveIntegerField(default=24, validators=_range_validators(2, 168))
    keep_days = models.PositiveIntegerField(default=7, validators=_range_validators(2, 60))
    keep_long_days = models.PositiveIntegerField(default=90, validators=_range_validators(2, 730))
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)
    # A run is claimed by setting its slot (seconds of the epoch // interval).
    slot = models.BigIntegerField(default=0)
    running_since = models.DateTimeField(null=True)
    ran_at = models.DateTimeField(null=True)  # the last run, good or bad
    succeeded_at = models.DateTimeField(null=True)  # the last run with at least one figure
    error = models.CharField(max_length=1000, blank=True)  # error of the last run, or ""
    report = models.JSONField(default=dict)  # collection.py: Report.as_json of the last run

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("cluster",)


class WatermarkCredential(Sealed):
    """What opens the source of a cluster (token, password, certificate authority), encrypted."""

    purpose = b"watermarks"


class Members(models.Model):
    """The objects of samples, in the order of their values. Immutable."""

    id = models.UUIDField(primary_key=True, editable=False)  # storage.py: derived from the content, so it can be cached
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12)  # figures.py: node | workload | container
    names = models.BinaryField()  # storage.py: node names, or "namespace/Kind/name" of workloads

    objects = Covered("cluster", part=True)


class Series(models.Model):
    """One figure of one cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="watermark_series")
    kind = models.CharField(max_length=12)
    resource = models.CharField(max_length=8)
    statistic = models.CharField(max_length=8)

    objects = Covered("cluster", part=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "resource", "statistic"], name="watermark_series_once_a_cluster"
            )
        ]


class Resolution(models.IntegerChoices):
    """Seconds between samples; ``COLLECTED`` samples are as collected."""

    COLLECTED = 60, _("as collected")
    FIVE_MINUTES = 300, "5 minutes"
    HOUR = 3600, "1 hour"


class Sample(models.Model):
    """The values of a series for all members at one time; a roll-up covers the span that ends at ``at``."""

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="samples")
    resolution = models.PositiveSmallIntegerField(choices=Resolution.choices)
    at = models.BigIntegerField()  # seconds of the epoch
    members = models.ForeignKey(Members, on_delete=models.CASCADE, related_name="+")
    origin = models.CharField(max_length=16)  # SourceKind, or "demo"
    values = models.BinaryField()  # storage.py: float32 per member, NaN for missing values

    objects = Covered("series", part=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["series", "resolution", "at"], name="watermark_sample_once_a_time")
        ]


class ContainerBook(models.Model):
    """What the containers of a cluster's workloads used, as containers.py keeps it, and what they request."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="+")
    updated = models.BigIntegerField()  # seconds of the epoch: the time of the newest samples
    content = models.BinaryField()  # engine.rightsizing.book: Book.packed
    requested = models.BinaryField()  # containers.py: Requested of each container, zlib over JSON

    objects = Covered("cluster", part=True)


class Annotating(models.Model):
    """Settings of annotations on a cluster, with the last run. Without a row none are written."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="annotating")
    own = models.BooleanField(default=False)  # kschedweb's form, on nodes and workloads
    crane = models.BooleanField(default=False)  # crane-scheduler's form, on nodes
    time_zone = models.CharField(max_length=64, default=DEFAULT_TIME_ZONE)  # of crane's texts
    rate = models.PositiveIntegerField(default=10, validators=_range_validators(1, 200))  # requests a second, at most
    renew = models.PositiveIntegerField(default=300, validators=_range_validators(60, 86_400))  # seconds
    # [{"resource": "nodes", "allowed": true}]; empty where the cluster does not say
    permissions = models.JSONField(default=list)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)
    running_until = models.DateTimeField(null=True)  # no other run starts before; reset at the end of a run
    ran_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=500, blank=True)  # why the last run could not begin
    # {"patched", "unchanged", "gone", "left", "failures": objects, "failed": [{"object", "reason"}]}
    outcome = models.JSONField(default=dict)

    objects = Covered("cluster")

    @property
    def writes(self) -> bool:
        return self.own or self.crane
