from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from kschedweb.clusters.signals import demo_loaded
from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class CostsConfig(AppConfig):
    name = "kschedweb.advice.costs"

    def ready(self) -> None:
        demo_loaded.connect(price_demo, dispatch_uid="price the demo's nodes")
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.SNAPSHOT), "costs")
        navigation.declare_choices((BarChoice.CLUSTER,), "costs-prices")
        actions.register_actions(
            PaletteAction(_("What does the cluster cost?"), "scale", "costs", "money price bill idle", place=37),
            PaletteAction(_("Set prices of nodes"), "scale", "costs-prices", "money cost table"),
        )


def price_demo(*, cluster: Any, **_: Any) -> None:
    """Give the demo its prices."""
    from kschedweb.advice.costs.examples import prices_invent

    prices_invent(cluster=cluster)
