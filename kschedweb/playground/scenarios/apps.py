from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.translating import gettext_lazy as _


class ScenariosConfig(AppConfig):
    name = "kschedweb.playground.scenarios"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        navigation.register_entries(
            RailGroup.WHAT_IF, Entry(_("Scenarios"), "flask-conical", "scenarios", 10, stems=("scenario",))
        )
        actions.register_actions(
            PaletteAction(
                _("New scenario"), "flask-conical", "scenario-new", "create what if", action="edit", place=40
            ),
        )
