"""Drawing the map of 5,000 nodes in Chromium, beside Plotly's plain heatmap of as many cells."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support import seed

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.nightly

NODES, LIMIT, MOST_TIMES = 5000, 100.0, 1.0  # milliseconds; times as long as the plain heatmap
# Both are drawn before the handlers return; the browser is let paint in between.
PLAIN = """async () => {
    const draw = number => {
        const figure = document.createElement("script"), chart = document.createElement("div");
        figure.type = "application/json";
        figure.id = `plain-${number}`;
        const z = Array.from({length: 50}, (_, row) => Array.from({length: 100}, (_, at) => (row * 7 + at * 3) % 101));
        const trace = {type: "heatmap", z, zmin: 0, zmax: 100, colorscale: "Cividis", xgap: 1, ygap: 1};
        figure.textContent = JSON.stringify({data: [trace], layout: {height: 560}});
        chart.className = "chart";
        chart.dataset.figure = figure.id;
        const box = document.createElement("div");
        box.append(figure, chart);
        document.querySelector("main").prepend(box);  // What is far from the screen is not drawn at once.
        const begun = performance.now();
        box.dispatchEvent(new Event("htmx:afterSettle", {bubbles: true}));
        const took = performance.now() - begun;
        if (!chart.querySelector(".main-svg")) throw new Error("nothing was drawn");
        return took;
    };
    const took = [];
    for (let number = 0; number < 9; number += 1) {
        took.push(draw(number));
        await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    }
    return took;
}"""
MAP = """async () => {
    const by = document.querySelector("select[name=by]"), took = [];
    const options = [...by.options].map(one => one.value);
    for (let number = 0; number < 9; number += 1) {
        by.value = options[(number + 1) % options.length];
        const begun = performance.now();
        by.dispatchEvent(new Event("change"));
        took.push(performance.now() - begun);
        await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    }
    return took;
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_five_thousand_nodes(
    page_as: Callable[..., Page], admin: User, report: Callable[..., None], width: int
) -> None:
    nodes = [seed.node(f"node-{number:04d}") for number in range(NODES)]
    for number, node in enumerate(nodes):
        node["metadata"]["labels"] |= {
            "topology.kubernetes.io/zone": f"zone-{number % 3}",
            "rack": f"rack-{number % 60}",
        }
    pods = [
        seed.pod(f"pod-{number:05d}", cpu="1", bound_to=f"node-{number * number % NODES:04d}")
        for number in range(NODES)
    ]
    seed.imported("large", [*nodes, *pods], admin)
    page = page_as("admin", width=width)
    page.goto("/nodes/?cluster=large")
    page.wait_for_selector("[data-nodemap][data-drawn]", timeout=60_000)
    assert page.locator("[data-summary]").inner_text().startswith("CPU of 5,000 nodes")
    first = page.evaluate("performance.getEntriesByName('nodemap')[0].duration")
    drawn = page.evaluate(MAP)
    # The page of nodes has no charts, and so no Plotly.
    page.goto("/costs/?cluster=large")
    plain = page.evaluate(PLAIN)
    ratio = statistics.median(drawn) / statistics.median(plain)
    remark = f"{ratio:.1f} times a plain heatmap ({statistics.median(plain):.0f} ms); first drawing {first:.0f} ms"
    report(f"node map, 5,000 nodes, {width} px", drawn, LIMIT, remark)
    assert ratio <= MOST_TIMES, remark
