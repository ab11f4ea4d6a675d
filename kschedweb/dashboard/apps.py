from django.apps import AppConfig

from kschedweb.web import actions, navigation, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.translating import gettext_lazy as _


class DashboardConfig(AppConfig):
    name = "kschedweb.dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.dashboard import searches

        navigation.register(
            Group.CLUSTER,
            Entry(_("Overview"), "layout-dashboard", "overview", 10),
            Entry(_("Pods"), "package", "pods", 20),
            Entry(_("Nodes"), "server", "nodes", 30),
        )
        navigation.register(Group.ACCOUNT, Entry(_("REST reference"), "file-text", "api:schema-page", 20))
        navigation.choosing(
            (Choice.CLUSTER, Choice.POLICY, Choice.SNAPSHOT), "overview", "overview-reasons", "resolved"
        )
        navigation.choosing((Choice.CLUSTER, Choice.NAMESPACE, Choice.POLICY, Choice.SNAPSHOT), "pods", "pod-message")
        navigation.choosing((Choice.CLUSTER, Choice.SNAPSHOT), "nodes", "namespaces")
        navigation.choosing((Choice.CLUSTER,), "search")
        searching.register(_("Actions"), 5, searches.actions)
        searching.register(_("Pods to explain"), 6, searches.explained)
        searching.register(_("Pages"), 10, searches.pages)
        searching.register(_("Pods"), 40, searches.pods)
        searching.register(_("Nodes"), 50, searches.nodes)
        actions.register(
            PaletteAction(
                _("Explain pod …"), "circle-help", "pods", "why decision pending", fills="explain pod ", place=10
            ),
            PaletteAction(_("Copy link to this page"), "link", "search", "share address permalink url", copies=True),
            *(
                PaletteAction(label, icon, "theme", "colours appearance", post=(("theme", name),))
                for name, label, icon in (
                    ("dark", _("Dark theme"), "moon"),
                    ("light", _("Light theme"), "sun"),
                    ("system", _("System theme"), "monitor"),
                )
            ),
        )
