from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.translating import gettext_lazy as _


class RightSizingConfig(AppConfig):
    name = "kschedweb.advice.rightsizing"

    def ready(self) -> None:
        family = frozenset({"right-sizing-workload", "right-sizing-apply"})
        navigation.register(Group.CLUSTER, Entry(_("Right-size"), "target", "right-sizing", 65, family=family))
        navigation.choosing((Choice.CLUSTER, Choice.NAMESPACE), "right-sizing")
        navigation.choosing((Choice.CLUSTER,), "right-sizing-workload", "right-sizing-apply")
        words = "requests vertical pod autoscaler vpa limits waste oversized"
        actions.register(PaletteAction(_("What should containers request?"), "target", "right-sizing", words, place=38))
