from django.apps import AppConfig

from kschedweb.web import actions
from kschedweb.web.actions import PaletteAction
from kschedweb.web.translating import gettext_lazy as _


class ScenariosConfig(AppConfig):
    name = "kschedweb.playground.scenarios"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        actions.register_actions(
            PaletteAction(
                _("New scenario"), "flask-conical", "scenario-new", "create what if", action="edit", place=40
            ),
        )
