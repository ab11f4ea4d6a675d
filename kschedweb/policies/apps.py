from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class PoliciesConfig(AppConfig):
    name = "kschedweb.policies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the plugins of other packages: one that cannot be used stops the start, not the first page."""
        from kschedweb.engine.config.registry import PluginError, installed

        try:
            installed()
        except PluginError as error:
            raise ImproperlyConfigured(f"{error}.") from None
