from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class ClustersConfig(AppConfig):
    name = "kschedweb.clusters"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Stop the start where the allowlist or a key could not work."""
        from kschedweb.clusters import addresses, credentials
        from kschedweb.errors import ApplicationError

        for rule in (addresses.CLUSTERS, addresses.EXTENDERS):
            try:
                addresses.Allowlist(rule.entries)
            except ApplicationError:
                raise ImproperlyConfigured(
                    f"{rule.variable} must list networks (10.0.0.0/8), host names, *.suffixes or *."
                ) from None
        try:
            if settings.ENCRYPTION_KEYS:
                credentials.keys()
        except ApplicationError as error:
            raise ImproperlyConfigured(error.detail) from None
