"""Scenarios: what-if questions about a cluster, with immutable revisions and files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext

from kschedweb.accounts.reach import Reach
from kschedweb.accounts.roles import Action
from kschedweb.accounts.row_access import Covered, rows_within
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

# Characters of the name of a scenario or a file.
NAME_LIMIT = 100


def _rows_in_reach(reach: Reach) -> models.Q:
    """Return the condition on scenarios that are within ``reach``.

    Scenarios that come with the site always are. Others are if they start from a cluster within reach, or were made
    by the person, and none of their revisions starts from a cluster beyond reach.
    """
    # The base manager, since the default one filters by reach itself.
    based = ScenarioRevision._base_manager.exclude(snapshot=None)
    inside = models.Q(snapshot__in=rows_within(Snapshot, reach))
    theirs = models.Q(pk__in=based.filter(inside).values("scenario")) | models.Q(created_by=reach.user)
    return models.Q(built_in=True) | (theirs & ~models.Q(pk__in=based.exclude(inside).values("scenario")))


class Scenario(models.Model):
    """A named scenario. Its documents are its revisions; name and description are those of the newest revision."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=NAME_LIMIT)
    # Slug of the name, unique for each owner.
    slug = models.SlugField(max_length=NAME_LIMIT, allow_unicode=True)
    description = models.CharField(max_length=500, blank=True)
    # True if everyone who is signed in can read it; otherwise only its owner and admins can.
    shared = models.BooleanField(default=False)
    # True for scenarios that come with the site: everyone can read and copy them, nobody can change them.
    built_in = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    # Number of the newest revision, set by selectors.scenario_list.
    newest: int

    objects = Covered(rule=_rows_in_reach)

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=["created_by", "slug"], name="scenario_name_once_an_owner")]

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """The name; for a scenario that comes with the site, in the language of the reader."""
        return gettext(self.name) if self.built_in else self.name

    @property
    def shown_description(self) -> str:
        """The description; for a scenario that comes with the site, in the language of the reader."""
        return gettext(self.description) if self.built_in and self.description else self.description

    @property
    def private(self) -> bool:
        """True if only the owner and admins may see it."""
        return not (self.shared or self.built_in)


class ScenarioRevision(models.Model):
    """A saved document of a scenario: valid when saved, never changed, numbered from 1."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    # The YAML as it was written, with comments.
    text = models.TextField()
    comment = models.CharField(max_length=500, blank=True)
    # The cluster at the start. None for an empty cluster, and for an imported scenario, which has its snapshot as a
    # file.
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("scenario")

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["scenario", "number"], name="scenario_revision_number_once")]

    @cached_property
    def document(self) -> Json:
        """The text as plain data, which must not be changed because it is cached."""
        data: Json = parse_document(self.text).data
        return data


class FileKind(models.TextChoices):
    NODES = "openb-nodes", _("Nodes (openb)")
    PODS = "openb-pods", _("Pods (openb)")
    RECORDS = "records", _("Records of kube-scheduler-simulator")
    CSV = "csv", _("CSV")
    RECORDING = "recording", _("Recorded use of machines")
    SNAPSHOT = "snapshot", _("The cluster it starts from")
    FIGURES = "figures", _("What its nodes and workloads used")


# Files of a base, which no document names.
UNNAMED = (FileKind.SNAPSHOT, FileKind.FIGURES)


class ScenarioFile(models.Model):
    """A file that revisions of a scenario read by name. It never changes, so that revisions keep their meaning."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=NAME_LIMIT)
    kind = models.CharField(max_length=16, choices=FileKind.choices)
    # Gzipped text in UTF-8.
    content = models.BinaryField()
    # Bytes before compression.
    size = models.PositiveBigIntegerField()
    # Hash of the text, not of the gzipped bytes.
    sha256 = models.CharField(max_length=64)
    lines = models.PositiveIntegerField()
    # [{"line": 7, "message": "…"}]; line 0 stands for the whole file.
    problems = models.JSONField(default=list)
    # columns, rows (the first ones), usable, looked_at, objects, and span (first and last time in seconds).
    about = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("scenario")

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["scenario", "name"], name="scenario_file_name_once")]

    @property
    def kib(self) -> int:
        """The size in KiB, rounded up."""
        return -(-self.size // 1024)


def readable_by(user: User, scenario: str = "") -> models.Q:
    """Return the condition on rows that ``user`` may read.

    ``scenario`` is the lookup from a row to its scenario; "" if the rows are scenarios.
    """
    if user.everywhere(Action.ADMINISTER):
        return models.Q()
    before = f"{scenario}__" if scenario else ""
    open_to_all = models.Q(**{f"{before}shared": True}) | models.Q(**{f"{before}built_in": True})
    return open_to_all | models.Q(**{f"{before}created_by": user})
