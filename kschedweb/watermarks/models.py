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
    """The unit of a node's figure from Prometheus; it is stored as percent of allocatable."""

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
    # True if the stored secret has a certificate authority.
    has_ca = models.BooleanField(default=False)
    # The label with the node's name.
    node_label = models.CharField(max_length=100, default="instance")
    unit = models.CharField(max_length=24, choices=Unit.choices, default=Unit.CAPACITY_PERCENT)
    # {"node/cpu/15m": "PromQL"}; a figure without a query is not collected.
    queries = models.JSONField(default=dict)
    # Seconds.
    interval = models.PositiveIntegerField(default=60, validators=_range_validators(30, 3600))
    # How long samples are kept: as collected, rolled up to 5 minutes, rolled up to 1 hour.
    keep_hours = models.PositiveIntegerField(default=24, validators=_range_validators(2, 168))
    keep_days = models.PositiveIntegerField(default=7, validators=_range_validators(2, 60))
    keep_long_days = models.PositiveIntegerField(default=90, validators=_range_validators(2, 730))
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)
    # A run is claimed by setting its slot (seconds of the epoch // interval).
    slot = models.BigIntegerField(default=0)
    running_since = models.DateTimeField(null=True)
    # The last run, good or bad.
    ran_at = models.DateTimeField(null=True)
    # The last run with at least one figure.
    succeeded_at = models.DateTimeField(null=True)
    # The error of the last run; "" for none.
    error = models.CharField(max_length=1000, blank=True)
    # ``CollectionReport.as_json`` of the last run (collection.py).
    report = models.JSONField(default=dict)

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("cluster",)


class WatermarkCredential(Sealed):
    """The encrypted secret of a cluster's source: token, password, certificate authority."""

    purpose = b"watermarks"


class Members(models.Model):
    """The objects of samples, in the order of their values. It is immutable."""

    # Derived from the content (storage.py), so that names can be cached by it.
    id = models.UUIDField(primary_key=True, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    # Node, workload or container (figures.py).
    kind = models.CharField(max_length=12)
    # Node names, or "namespace/Kind/name" of workloads, compressed (storage.py).
    names = models.BinaryField()

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
    """The values of a series for all members at one time. A roll-up covers the span that ends at ``at``."""

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="samples")
    resolution = models.PositiveSmallIntegerField(choices=Resolution.choices)
    # Seconds of the epoch.
    at = models.BigIntegerField()
    members = models.ForeignKey(Members, on_delete=models.CASCADE, related_name="+")
    # A SourceKind, or "demo".
    origin = models.CharField(max_length=16)
    # A float32 for each member, NaN for missing values (storage.py).
    values = models.BinaryField()

    objects = Covered("series", part=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["series", "resolution", "at"], name="watermark_sample_once_a_time")
        ]


class ContainerBook(models.Model):
    """The use of the containers of a cluster's workloads, as container_book.py records it, and their requests."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="+")
    # Seconds of the epoch: the time of the newest samples.
    updated = models.BigIntegerField()
    # ``AggregateContainerStates.to_bytes`` of engine.rightsizing.
    content = models.BinaryField()
    # ``Requested`` of each container (container_requests.py), zlib over JSON.
    requested = models.BinaryField()

    objects = Covered("cluster", part=True)


class Annotating(models.Model):
    """Settings of annotations on a cluster, with the last run. Without a row, none are written."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="annotating")
    # kschedweb's form, on nodes and workloads.
    own = models.BooleanField(default=False)
    # crane-scheduler's form, on nodes.
    crane = models.BooleanField(default=False)
    # The zone of crane's texts.
    time_zone = models.CharField(max_length=64, default=DEFAULT_TIME_ZONE)
    # Requests a second, at most.
    rate = models.PositiveIntegerField(default=10, validators=_range_validators(1, 200))
    # Seconds.
    renew = models.PositiveIntegerField(default=300, validators=_range_validators(60, 86_400))
    # [{"resource": "nodes", "allowed": true}]; empty if the cluster does not say.
    permissions = models.JSONField(default=list)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)
    # No other run starts before; reset at the end of a run.
    running_until = models.DateTimeField(null=True)
    ran_at = models.DateTimeField(null=True)
    # Why the last run could not begin; "" if it could.
    error = models.CharField(max_length=500, blank=True)
    # {"patched", "unchanged", "gone", "left", "failures": objects, "failed": [{"object", "reason"}]}.
    outcome = models.JSONField(default=dict)

    objects = Covered("cluster")

    @property
    def writes(self) -> bool:
        return self.own or self.crane
