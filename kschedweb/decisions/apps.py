from django.apps import AppConfig

from kschedweb.web import navigation, searching


class DecisionsConfig(AppConfig):
    name = "kschedweb.decisions"

    def ready(self) -> None:
        """Register the panel of score curves with the policy editor, and the pages with the navigation."""
        from kschedweb.decisions.editing.curves import panels as curves
        from kschedweb.decisions.groups.searches import groups
        from kschedweb.policies.editing import panels

        panels.register(curves)
        navigation.belong("pods", "decision", "pod-groups", "pod-group")
        navigation.belong("policies", "classic", "classic-entry")
        navigation.belong("watermarks", "watermark-policies")
        navigation.scoped("watermark-policies")
        searching.register("Groups of pods", 45, groups)
