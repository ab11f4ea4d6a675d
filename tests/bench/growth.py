"""Speed from 1,000 to 100,000 nodes; ``make growth`` writes docs/growth.md and its figure."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.releases import load
from tests.bench import workloads
from tests.support.browser import CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
PODS_A_NODE, PENDING = 3, 200
PLOTLY = ROOT / "frontend/node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js"


@dataclass(frozen=True)
class Growth:
    """``reading`` in seconds, ``rates`` in pods per second by kind, every node scored."""

    nodes: int
    reading: float
    gibibytes: float
    rates: dict[str, float]


def measured(nodes: int) -> Growth:
    """Measured in a process of its own, whose memory is counted."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.bench.growth", str(nodes)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Growth(**json.loads(process.stdout))


def measure(nodes: int) -> Growth:
    begun = time.perf_counter()
    snapshot = Snapshot.from_objects(_objects(nodes))
    reading = time.perf_counter() - begun
    configuration = load(workloads.CONFIG).configuration
    assert configuration is not None
    gc.disable()  # as on the command line
    scheduler, rates = Scheduler(snapshot, configuration), {}
    for kind, make in workloads.KINDS.items():
        pods = [Pod.from_json(workloads.pod(f"{kind}-{number}", *make(number))) for number in range(PENDING)]
        begun = time.perf_counter()
        placed = scheduler.schedule_pods(pods)
        rates[kind] = len(pods) / (time.perf_counter() - begun)
        assert all(placement.node for placement in placed), kind
        for placement in placed:
            snapshot.remove_pod(placement.pod)
    return Growth(nodes, reading, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, rates)


def _objects(nodes: int) -> Iterator[Any]:
    """Each object read from its own text, so that nothing is shared that would not be in a dump."""
    for number in range(nodes):
        yield json.loads(json.dumps(workloads.node(number)))
    for number in range(nodes * PODS_A_NODE):
        pod = workloads.pod(f"pod-{number}", labels={"app": "other"}, node_number=number % nodes)
        yield json.loads(json.dumps(pod))


def table(rows: list[Growth]) -> str:
    kinds = list(rows[0].rates)
    lines = [
        "# Growth",
        "",
        f"Pods per second on one core, every node scored, {PENDING} pods of each kind one after the other, "
        f"{PODS_A_NODE} pods bound to each node before. `make growth` measures it.",
        "",
        "![Pods per second by number of nodes](growth.svg)",
        "",
        f"| nodes | {' | '.join(kinds)} | reading, s | memory, GiB |",
        f"|---:|{'---:|' * (len(kinds) + 2)}",
    ]
    for row in rows:
        rates = " | ".join(f"{row.rates[kind]:,.0f}" for kind in kinds)
        lines.append(f"| {row.nodes:,} | {rates} | {row.reading:.1f} | {row.gibibytes:.2f} |")
    return "\n".join(lines) + "\n"


def figure(rows: list[Growth]) -> dict[str, Any]:
    """A Plotly figure: one line a kind, both axes logarithmic."""
    nodes = [row.nodes for row in rows]
    lines = [{"x": nodes, "y": [row.rates[kind] for row in rows], "name": kind} for kind in rows[0].rates]
    axis = {"type": "log", "gridcolor": "#ddd"}
    layout = {
        "width": 900,
        "height": 520,
        "font": {"family": "sans-serif"},
        "xaxis": {**axis, "title": {"text": "nodes"}},
        "yaxis": {**axis, "title": {"text": "pods per second"}},
        "margin": {"t": 20},
    }
    return {"data": lines, "layout": layout}


def drawn(figure: dict[str, Any]) -> str:
    """The figure as SVG, by Plotly in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(path=PLOTLY)
        address: str = page.evaluate("figure => Plotly.toImage(figure, {format: 'svg'})", figure)
        browser.close()
    from urllib.parse import unquote

    return unquote(address.partition(",")[2])


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(asdict(measure(int(sys.argv[1])))))
        return
    rows = [measured(nodes) for nodes in SIZES]
    (ROOT / "docs/growth.md").write_text(table(rows))
    (ROOT / "docs/growth.svg").write_text(drawn(figure(rows)))


if __name__ == "__main__":
    main()
