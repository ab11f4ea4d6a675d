"""In the browser: a real Prometheus is connected, tested, corrected where it says so, saved, and its figures seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django import Settings as DjangoSettings

from kschedweb.accounts.models import User
from kschedweb.clusters.models import NodeRow
from kschedweb.clusters.services import demo_load
from kschedweb.watermarks import tasks
from kschedweb.watermarks.selectors import current_watermarks
from tests.support.processes import wait_until
from tests.support.prometheus import Exporter, Prometheus
from tests.support.tiers import one_of

CPU = (
    '100 * (1 - sum by (node) (rate(node_cpu_seconds_total{mode="idle"}[5m]))'
    " / sum by (node) (rate(node_cpu_seconds_total[5m])))"
)


@pytest.mark.parametrize(("width", "dark"), one_of((1440, False), (390, True)))
def test_a_prometheus_is_connected_corrected_and_collected(
    page_as: Callable[..., Any],
    axe: Callable[[Any], None],
    admin: User,
    settings: DjangoSettings,
    tmp_path: Path,
    width: int,
    dark: bool,
) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    cluster = demo_load(user=admin)
    names = list(NodeRow.objects.filter(snapshot__cluster=cluster).order_by("name").values_list("name", flat=True))
    shares = {name: 0.05 + 0.9 * place / len(names) for place, name in enumerate(names)}
    begun = time.time() - 3600

    def text(now: float) -> str:
        lines = ["# TYPE node_cpu_seconds_total counter"]
        for name, share in shares.items():
            for mode, part in (("idle", 1 - share), ("user", share)):
                lines.append(f'node_cpu_seconds_total{{mode="{mode}",node="{name}"}} {part * (now - begun):.6f}')
        return "\n".join(lines) + "\n"

    with Exporter(text).started() as exporter, Prometheus(tmp_path, scrape=[exporter.port]).started() as prometheus:
        wait_until(
            lambda: (prometheus.value("min(count_over_time(node_cpu_seconds_total[5m]))") or 0) >= 4, "four scrapes"
        )
        page = page_as("admin", width=width, dark=dark)
        page.goto(f"/usage/source/?cluster={cluster.name}")
        expect(page.get_by_label("Address")).to_be_hidden()
        page.get_by_label("Prometheus", exact=True).check()
        page.get_by_label("Address").fill("http://127.0.0.1:1")
        for area in page.locator("textarea[name^=node_], textarea[name^=workload_], textarea[name^=container_]").all():
            area.fill("")
        page.locator("[name=node_cpu_5m]").fill("sum by (node) (rate(node_cpu_seconds_total[5m])")
        page.get_by_label("Label that names a node").fill("node")
        page.get_by_role("button", name="Test only").click()
        expect(page.locator("#id_address-error")).to_contain_text("Prometheus cannot be reached at its address.")
        axe(page)

        page.get_by_label("Address").fill(prometheus.url)
        page.get_by_role("button", name="Test and save").click()
        expect(page.locator("#id_node_cpu_5m-error")).to_contain_text("parse error: unclosed left parenthesis")
        axe(page)

        page.locator("[name=node_cpu_5m]").fill(CPU)
        page.get_by_role("button", name="Test only").click()
        expect(page.locator(".found")).to_contain_text(f"{len(names)} series, {len(names)} about nodes of this cluster")
        expect(page.locator(".found")).to_contain_text("As stored: ")
        axe(page)

        page.get_by_role("button", name="Test and save").click()
        expect(page.get_by_text("Saved. Usage data of demo is collected from now on.")).to_be_visible()
        assert tasks.collect(str(cluster.pk)) is True
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"figures of {len(names)} nodes")
        expect(page.locator("main")).to_contain_text("from Prometheus")
        watermarks = current_watermarks(cluster)
        assert watermarks is not None
        used_percents = dict(zip(watermarks.names, watermarks.column("cpu", "5m").tolist(), strict=True))
        # In percent of allocatable, so at least what it is of the machine.
        assert all(used_percents[name] >= 100 * share - 1 for name, share in shares.items())
