from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kschedweb.accounts import grant_targets
from kschedweb.web import actions, doctor, health, retention, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.translating import gettext_lazy as _


class ClustersConfig(AppConfig):
    name = "kschedweb.clusters"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.clusters.connecting.credentials import credentials_check
        from kschedweb.clusters.doctor_checks import allowlists_examine, keys_examine
        from kschedweb.clusters.importing.uploads import uploads_forget
        from kschedweb.clusters.searches import find_clusters
        from kschedweb.clusters.selectors import cluster_grounds

        check_connection_settings()
        actions.register_actions(
            PaletteAction(
                _("Connect a cluster"), "link", "cluster-connect", "add kubeconfig token", action="administer"
            ),
            PaletteAction(_("Import a cluster"), "upload", "cluster-import", "files yaml json", action="edit"),
        )
        searching.register_group(_("Clusters"), 20, find_clusters)
        grant_targets.register_lister(cluster_grounds)
        doctor.register_examination("keys", keys_examine)
        doctor.register_examination("allowlists", allowlists_examine)
        health.register_check("credentials", credentials_check)
        retention.register_cleaning("clusters.Upload", uploads_forget)


def check_connection_settings() -> None:
    """Stop the start if an allowlist or a key is invalid."""
    from kschedweb.clusters.connecting import addresses, credentials
    from kschedweb.web.errors import ApplicationError

    for rule in addresses.RULES:
        try:
            addresses.Allowlist(rule.operator_entries)
        except ApplicationError:
            raise ImproperlyConfigured(
                f"{rule.variable} must list networks (10.0.0.0/8), host names, *.suffixes or *."
            ) from None
    try:
        if settings.ENCRYPTION_KEYS:
            credentials.encryption_keys()
    except ApplicationError as error:
        raise ImproperlyConfigured(error.detail) from None
