from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from kschedweb.clusters.signals import demo_loaded
from kschedweb.web import navigation, retention
from kschedweb.web.navigation import BarChoice


class WatermarksConfig(AppConfig):
    name = "kschedweb.watermarks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.watermarks.services import samples_forget

        demo_loaded.connect(record_demo, dispatch_uid="record the demo's use")
        pages = ("usage", "usage-heatmap", "usage-distribution", "usage-nodes", "usage-source", "usage-annotations")
        navigation.declare_choices((BarChoice.CLUSTER,), *pages)
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.NAMESPACE), "usage-workloads")
        retention.register_cleaning("watermarks.Sample", samples_forget)


def record_demo(*, cluster: Any, objects: Any, **_: Any) -> None:
    """Store two weeks of recorded use for the demo."""
    from kschedweb.watermarks.demo import demo_record

    demo_record(cluster=cluster, objects=objects)
