from django.apps import AppConfig

from kschedweb.web import actions, navigation, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class DashboardConfig(AppConfig):
    name = "kschedweb.dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.dashboard import searches
        from kschedweb.dashboard.rail import declare_rail

        declare_rail()
        navigation.declare_choices(
            (BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), "overview", "overview-reasons", "resolved"
        )
        navigation.declare_choices(
            (BarChoice.CLUSTER, BarChoice.NAMESPACE, BarChoice.POLICY, BarChoice.SNAPSHOT), "pods", "pod-message"
        )
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.SNAPSHOT), "nodes", "namespaces")
        navigation.declare_choices((BarChoice.CLUSTER,), "search")
        searching.register_group(_("Actions"), 5, searches.search_actions)
        searching.register_group(_("Pods to explain"), 6, searches.search_explained)
        searching.register_group(_("Pages"), 10, searches.search_pages)
        searching.register_group(_("Pods"), 40, searches.search_pods)
        searching.register_group(_("Nodes"), 50, searches.search_nodes)
        actions.register_actions(
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
