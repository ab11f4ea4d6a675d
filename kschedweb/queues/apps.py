from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class QueuesConfig(AppConfig):
    name = "kschedweb.queues"

    def ready(self) -> None:
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.SNAPSHOT), "queues", "queue-admission")
        navigation.declare_choices((BarChoice.SNAPSHOT,), "queue", "queue-workload")
        actions.register_actions(
            PaletteAction(_("Why does a job wait?"), "layers", "queues", "kueue quota queue workload borrow", place=12)
        )
