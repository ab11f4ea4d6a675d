from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from kschedweb.web import navigation, searching
from kschedweb.web.navigation import Entry

PAGES = frozenset({"policy", "policy-new", "policy-revisions", "policy-diff", "policy-effective"})


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
        navigation.register(navigation.MAIN, Entry("Policies", "sliders-horizontal", "policies", 50, PAGES))
        searching.register("Policies", 30, policies)
        try:
            others()
        except PluginError as error:
            raise ImproperlyConfigured(f"{error}.") from None
