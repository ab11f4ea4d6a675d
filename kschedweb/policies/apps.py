from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from kschedweb.web import actions, navigation, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.translating import gettext_lazy as _


class PoliciesConfig(AppConfig):
    name = "kschedweb.policies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the plugins of other packages, so that an unusable one stops the start and not the first page."""
        from kschedweb.clusters import scope
        from kschedweb.engine.config.specs import PluginError
        from kschedweb.engine.plugins import others
        from kschedweb.policies.scope import Scope
        from kschedweb.policies.searches import policies

        scope.extend(Scope)
        navigation.register(
            Group.POLICIES, Entry(_("Policies"), "sliders-horizontal", "policies", 10, stems=("policy",))
        )
        navigation.belong("policies", "repositories", "repository", "repository-delete")
        navigation.choosing((Choice.CLUSTER,), "policy")
        actions.register(
            PaletteAction(_("New policy"), "plus", "policy-new", "create configuration", action="edit"),
        )
        searching.register(_("Policies"), 30, policies)
        try:
            others()
        except PluginError as error:
            raise ImproperlyConfigured(f"{error}.") from None
