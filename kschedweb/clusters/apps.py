from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kschedweb.web import health, navigation, retention, searching
from kschedweb.web.navigation import Entry


class ClustersConfig(AppConfig):
    name = "kschedweb.clusters"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.clusters.connecting.credentials import credentials_check
        from kschedweb.clusters.importing.uploads import uploads_forget
        from kschedweb.clusters.searches import clusters

        _refuse_what_cannot_work()
        pages = frozenset({"cluster", "cluster-connect", "cluster-import"})
        navigation.register(navigation.MAIN, Entry("Clusters", "boxes", "clusters", 20, pages))
        searching.register("Clusters", 20, clusters)
        health.register("credentials", credentials_check)
        retention.register_cleaning("clusters.Upload", uploads_forget)


def _refuse_what_cannot_work() -> None:
    """Stop the start if the allowlist or a key is invalid."""
    from kschedweb.clusters.connecting import addresses, credentials
    from kschedweb.web.errors import ApplicationError

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
