from __future__ import annotations

from django.apps import AppConfig


class MovesConfig(AppConfig):
    name = "kschedweb.playground.migration"
    # The label is part of the names of tables; it stays though the pages are called migration.
    label = "moves"
