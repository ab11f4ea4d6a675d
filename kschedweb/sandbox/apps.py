from django.apps import AppConfig
from django.conf import settings

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.translating import gettext_lazy as _


class SandboxConfig(AppConfig):
    name = "kschedweb.sandbox"
    label = "sandbox"

    def ready(self) -> None:
        pages = frozenset({"sandbox-object", "sandbox-create"})
        is_enabled = lambda: bool(settings.SANDBOX_SERVER)  # noqa: E731
        navigation.register_entries(
            RailGroup.CLUSTER, Entry(_("Sandbox"), "gauge", "sandbox", 90, pages, is_available=is_enabled)
        )
