from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.retention import RetentionRule, register


class TryingConfig(AppConfig):
    name = "kschedweb.playground.trying"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED
        from kschedweb.playground.trying.words import DOOR

        navigation.belong("comparisons", "trying", "tried")
        actions.register(PaletteAction(DOOR, "play", "trying", "what if weight change", action="edit", place=5))
        register(RetentionRule("trying.TriedChange", "created_at", "answers", ANSWERED))
