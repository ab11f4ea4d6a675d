"""Scenarios: what-if questions about a cluster, with immutable revisions and files."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext

from kschedweb.accounts.reach import Reach
from kschedweb.accounts.roles import Action
from kschedweb.accounts.row_access import Covered, rows_within
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

NAME_LIMIT = 100


def _rows_in_reach(reach: Reach) -> models.Q:
    """Scenarios that come with the site; else none of whose revisions starts from a cluster beyond it, and which start
    from one within it or were made by the person.
    """
    based = ScenarioRevision._base_manager.exclude(snapshot=None)
    inside = models.Q(snapshot__in=rows_within(Snapshot, reach))
    theirs = models.Q(pk__in=based.filter(inside).values("scenario")) | models.Q(created_by=reach.user)
    return models.Q(built_in=True) | (theirs & ~models.Q(pk__in=based.exclude(inside).values("scenario")))


class Scenario(models.Model):
    """A named scenario. Its documents are its revisions; name and description are those of the newest.

    With ``shared``, everyone who is signed in can read it, otherwise only its owner and admins. ``built_in`` scenarios
    come with the site: everyone can read and copy them, nobody can change them.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=NAME_LIMIT)
    slug = models.SlugField(max_length=NAME_LIMIT, allow_unicode=True)  # of the name, unique for each owner
    description = models.CharField(max_length=500, blank=True)
    shared = models.BooleanField(default=False)
    built_in = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    newest: int  # number of the newest revision, set by selectors.scenario_list

    objects = Covered(rule=_rows_in_reach)

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=["created_by", "slug"], name="scenario_name_once_an_owner")]

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """The name; that of one that comes with the site in the language of the reader."""
        return gettext(self.name) if self.built_in else self.name

    @property
    def shown_description(self) -> str:
        """The description, likewise."""
        return gettext(self.description) if self.built_in and self.description else self.description

    @property
    def private(self) -> bool:
        """Whether only the owner and admins may see it."""
        return not (self.shared or self.built_in)


class ScenarioRevision(models.Model):
    """A saved document of a scenario: valid when saved, never changed, numbered from 1.

    ``snapshot`` is the cluster at the start; ``None`` for an empty cluster, and for an imported scenario, which has its
    snapshot as a file.
    """

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    text = models.TextField()  # the YAML as written, with comments
    comment = models.CharField(max_length=500, blank=True)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("scenario")

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["scenario", "number"], name="scenario_revision_number_once")]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The text as plain data, which must not be changed."""
        data: dict[str, Any] = parse_document(self.text).data
        return data


class FileKind(models.TextChoices):
    NODES = "openb-nodes", _("Nodes (openb)")
    PODS = "openb-pods", _("Pods (openb)")
    RECORDS = "records", _("Records of kube-scheduler-simulator")
    CSV = "csv", _("CSV")
    RECORDING = "recording", _("Recorded use of machines")
    SNAPSHOT = "snapshot", _("The cluster it starts from")
    FIGURES = "figures", _("What its nodes and workloads used")


UNNAMED = (FileKind.SNAPSHOT, FileKind.FIGURES)  # files of a base, which no document names


class ScenarioFile(models.Model):
    """A file that revisions of a scenario read by name. It never changes, so that revisions keep their meaning."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=NAME_LIMIT)
    kind = models.CharField(max_length=16, choices=FileKind.choices)
    content = models.BinaryField()  # gzipped text in UTF-8
    size = models.PositiveBigIntegerField()  # bytes before compression
    sha256 = models.CharField(max_length=64)  # of the text
    lines = models.PositiveIntegerField()
    problems = models.JSONField(default=list)  # [{"line": 7, "message": "…"}], line 0 for the whole file
    about = models.JSONField(default=dict)  # columns, rows (the first), usable, looked_at, objects, span (seconds)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("scenario")

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["scenario", "name"], name="scenario_file_name_once")]

    @property
    def kib(self) -> int:
        """Size in KiB, rounded up."""
        return -(-self.size // 1024)


def readable_by(user: User, scenario: str = "") -> models.Q:
    """The condition on rows that ``user`` may read; ``scenario`` is the lookup to the scenario, "" for scenarios."""
    if user.everywhere(Action.ADMINISTER):
        return models.Q()
    before = f"{scenario}__" if scenario else ""
    open_to_all = models.Q(**{f"{before}shared": True}) | models.Q(**{f"{before}built_in": True})
    return open_to_all | models.Q(**{f"{before}created_by": user})
