from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from kschedweb.clusters.signals import demo_loaded
from kschedweb.web import navigation, retention
from kschedweb.web.navigation import BarChoice, Entry, RailGroup
from kschedweb.web.translating import gettext_lazy as _


class WatermarksConfig(AppConfig):
    name = "kschedweb.watermarks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.watermarks.services import samples_forget

        demo_loaded.connect(record_demo, dispatch_uid="record the demo's use")
        tabs = (
            Entry(_("Skew"), "", "usage", 10),
            Entry(_("Heatmap"), "", "usage-heatmap", 20),
            Entry(_("Distribution"), "", "usage-distribution", 30),
            Entry(_("Requests against use"), "", "usage-nodes", 40, frozenset({"usage-workloads"})),
            Entry(_("Data source"), "", "usage-source", 50, frozenset({"usage-source-change"})),
            Entry(_("Annotations"), "", "usage-annotations", 60, frozenset({"usage-annotations-change"})),
        )
        navigation.register_entries(RailGroup.CLUSTER, Entry(_("Usage"), "activity", "usage", 40))
        navigation.register_tabs("usage", *tabs)
        navigation.declare_choices((BarChoice.CLUSTER,), *(tab.name for tab in tabs))
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.NAMESPACE), "usage-workloads")
        retention.register_cleaning("watermarks.Sample", samples_forget)


def record_demo(*, cluster: Any, objects: Any, **_: Any) -> None:
    """Store a day of recorded use for the demo."""
    from kschedweb.watermarks.demo import demo_record

    demo_record(cluster=cluster, objects=objects)
