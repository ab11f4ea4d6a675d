from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from kschedweb.web import actions, navigation, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class PoliciesConfig(AppConfig):
    name = "kschedweb.policies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the plugins of other packages, so that an unusable one stops the start and not the first page."""
        from kschedweb.clusters import scope
        from kschedweb.engine.config.specs import PluginError
        from kschedweb.engine.plugins import out_of_tree_plugins
        from kschedweb.policies.scope import PolicyScope
        from kschedweb.policies.searches import search_policies

        scope.use_scope_class(PolicyScope)
        navigation.declare_choices((BarChoice.CLUSTER,), "policy")
        actions.register_actions(
            PaletteAction(_("New policy"), "plus", "policy-new", "create configuration", action="edit"),
        )
        searching.register_group(_("Policies"), 30, search_policies)
        try:
            out_of_tree_plugins()
        except PluginError as error:
            raise ImproperlyConfigured(f"{error}.") from None
