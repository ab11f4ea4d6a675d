from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class ListsConfig(AppConfig):
    name = "kschedweb.lists"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The module ``tables`` of each app registers its lists.
        autodiscover_modules("tables")
