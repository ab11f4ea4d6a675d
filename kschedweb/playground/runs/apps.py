from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models import Q

from kschedweb.playground.scenarios.signals import ready_placed
from kschedweb.web import actions
from kschedweb.web.actions import PaletteAction
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class RunsConfig(AppConfig):
    name = "kschedweb.playground.runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.decisions.inquiring import handlers
        from kschedweb.decisions.models import QuestionKind
        from kschedweb.jobs.examples import SiteExample, register_example
        from kschedweb.jobs.models import UNFINISHED
        from kschedweb.jobs.retention import IDLE
        from kschedweb.playground.runs import pod_decisions

        handlers.register_handler(
            QuestionKind.RUN, handlers.QuestionHandler(pod_decisions.decision_answer, pod_decisions.check_readable)
        )

        ready_placed.connect(run_ready, dispatch_uid="run the ready scenarios")
        actions.register_actions(
            PaletteAction(
                _("Compare policies"),
                "git-compare",
                "comparison-new",
                "comparison difference",
                action="edit",
                place=20,
            ),
            PaletteAction(_("Run a scenario"), "play", "run-new", "simulate simulation", action="edit"),
        )
        register_example(
            SiteExample("comparison", "kschedweb.playground.runs.comparisons.example.comparison_example", place=20)
        )
        # A run of a comparison goes with the comparison.
        register_rules(
            RetentionRule("runs.Comparison", "created_at", "work", ~Q(runs__job__state__in=UNFINISHED)),
            RetentionRule("runs.Run", "created_at", "work", Q(comparison=None) & IDLE),
        )


def run_ready(**placed: Any) -> None:
    """Play a ready scenario once it is in the database."""
    from kschedweb.playground.runs import ready_runs

    ready_runs.play_ready_run(**placed)
