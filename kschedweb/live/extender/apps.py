from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.translating import gettext_lazy as _


class ExtenderConfig(AppConfig):
    name = "kschedweb.live.extender"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        pages = frozenset({"live-extender", "live-extender-secret"})
        navigation.register_entries(RailGroup.PRODUCTION, Entry(_("Extender"), "plug", "extenders", 40, pages))
