from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

from kschedweb.web import navigation


class ListsConfig(AppConfig):
    name = "kschedweb.lists"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        autodiscover_modules("tables")  # each app's own
        navigation.add_to_family("settings", "views")
