from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, Group
from kschedweb.web.translating import gettext_lazy as _


class ExtenderConfig(AppConfig):
    name = "kschedweb.live.extender"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        pages = frozenset({"live-extender", "live-extender-secret"})
        navigation.register(Group.PRODUCTION, Entry(_("Extender"), "plug", "extenders", 40, pages))
