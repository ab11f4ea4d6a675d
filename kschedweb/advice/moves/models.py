"""Dry runs of the descheduler that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.decisions.snapshot_inquiries import SnapshotInquiry


class Question(SnapshotInquiry):
    """One dry run. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    # The fields of requests.DryRunRequest.
    asked = models.JSONField()
    # The version that answered, with all gates.
    engine = models.CharField(max_length=20_000, blank=True)

    objects = Covered("snapshot", visible_to_creator=True)
