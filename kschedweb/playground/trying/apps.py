from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice


class TryingConfig(AppConfig):
    name = "kschedweb.playground.trying"

    def ready(self) -> None:
        from kschedweb.playground.trying.sentences import DOOR

        navigation.declare_choices((BarChoice.CLUSTER,), "policy-weights")
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.POLICY), "trying")
        actions.register_actions(PaletteAction(DOOR, "play", "trying", "what if weight change", action="edit", place=5))
