"""Pins every live scheduler that followed its policy's newest revision to the one that is the newest now.

A process of the previous release works with a pinned revision as well.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def pin(apps: Any, _editor: Any) -> None:
    newest = apps.get_model("policies", "Revision").objects.filter(policy=OuterRef("policy")).order_by("-number")
    following = apps.get_model("scheduling", "LiveScheduler").objects.filter(revision=None)
    following.update(revision=Subquery(newest.values("pk")[:1]))


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0003_kinds"),
        ("scheduling", "0005_database_defaults"),
    ]
    operations = [migrations.RunPython(pin, migrations.RunPython.noop)]
