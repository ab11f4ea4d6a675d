from django.apps import AppConfig

from kschedweb.web import navigation, searching
from kschedweb.web.navigation import Entry


class DashboardConfig(AppConfig):
    name = "kschedweb.dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.dashboard import searches

        navigation.register(
            navigation.MAIN,
            Entry("Overview", "layout-dashboard", "overview", 10),
            Entry("Nodes", "server", "nodes", 30),
            Entry("Pods", "package", "pods", 40),
        )
        navigation.scoped("overview", "nodes", "pods")
        searching.register("Pages", 10, searches.pages)
        searching.register("Pods", 40, searches.pods)
        searching.register("Nodes", 50, searches.nodes)
