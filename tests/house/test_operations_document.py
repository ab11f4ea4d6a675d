"""deploy/monitoring/: Prometheus takes the rules, and answers each query of them and of the dashboard."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kschedweb.live.extender import metrics as extender
from kschedweb.live.extender.configuration import VERBS
from kschedweb.live.schedulers.metrics import render_exposition
from kschedweb.live.shadow.run import VERDICTS
from tests.conftest import ROOT
from tests.live.test_metrics_live import clear_series, ours
from tests.support.needs import missing
from tests.support.processes import wait_until
from tests.support.prometheus import Exporter, Prometheus

MONITORING = ROOT / "deploy" / "monitoring"
RULES = (MONITORING / "rules.yaml").read_text(encoding="utf-8")
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
OF_PROMETHEUS = {"up"}


@pytest.mark.server
def test_prometheus_takes_the_alerts(tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        missing("install prometheus")
    (tmp_path / "rules.yaml").write_text(RULES)
    command = ["promtool", "check", "rules", "rules.yaml"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr + process.stdout


def test_every_series_of_the_alerts_is_served_here() -> None:
    assert extender.__name__  # its series are registered where it is imported
    served_series = set(re.findall(r"^# TYPE (\w+) ", render_exposition()[0].decode(), re.MULTILINE)) | OF_PROMETHEUS
    (group,) = yaml.safe_load(RULES)["groups"]
    alert_series = {name for rule in group["rules"] for name in re.findall(r"(\w+)(?:\{|\[)", rule["expr"])}
    assert alert_series
    assert {name.removesuffix("_bucket") for name in alert_series} <= served_series


def test_document_names_every_rule() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (group,) = yaml.safe_load(RULES)["groups"]
    assert re.findall(r"^- `(\w+)`: ", text, re.MULTILINE) == [rule["alert"] for rule in group["rules"]]


def panel_queries() -> list[str]:
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [re.sub(r"\$\w+", ".*", query) for query in expressions]


def alert_queries() -> list[str]:
    """Return each alert's query without the comparison: the series must be there for it ever to fire."""
    (group,) = yaml.safe_load(RULES)["groups"]
    return [re.sub(r"\s(<|>|==)\s[\d.]+\s*$", "", rule["expr"]) for rule in group["rules"]]


def render_all_series(_now: float) -> str:
    """Render the metrics of a process in which every counted event happens between two scrapes."""
    ours("entity")
    labels = ("metrics", "metrics")
    for verb in VERBS.values():  # a test before this one may have asked any of them, and a rate of none is no number
        extender.REQUESTS.labels(*labels, verb).inc()
        extender.ERRORS.labels(*labels, verb).inc()
        extender.SECONDS.labels(*labels, verb).observe(0.01)
    VERDICTS.labels(*labels, "agree").inc()
    return render_exposition()[0].decode()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    rules = MONITORING / "rules.yaml"
    clear_series()  # a rate over what other tests counted once is no number
    with Exporter(render_all_series).started() as exporter:
        server = Prometheus(tmp_path_factory.mktemp("prometheus"), scrape=[exporter.port], job="kschedweb", rules=rules)
        with server.started():
            wait_until(lambda: query_values(server, "rate(kschedweb_shadow_verdicts_total[5m])") != [], "two scrapes")
            yield server


def query_values(prometheus: Prometheus, query: str) -> list[float]:
    return [float(row["value"][1]) for row in prometheus.ask("query", query=query)["result"]]


@pytest.mark.server
def test_prometheus_answers_every_query_of_dashboard_and_rules(prometheus: Prometheus) -> None:
    queries = [*panel_queries(), *alert_queries()]
    assert len(queries) > 20
    for query in queries:
        query_result = query_values(prometheus, query)
        assert query_result, query
        assert not any(map(math.isnan, query_result)), query


@pytest.mark.server
def test_variables_of_the_dashboard_offer_clusters_and_profiles(prometheus: Prometheus) -> None:
    queries = [item["query"]["query"] for item in DASHBOARD["templating"]["list"] if item["type"] == "query"]
    assert len(queries) == 2
    for query in queries:
        match = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
        assert match, query
        series = re.sub(r"\$\w+", ".*", match[1])
        assert "metrics" in prometheus.ask(f"label/{match[2]}/values", **{"match[]": series})


@pytest.mark.server
def test_prometheus_evaluates_each_rule(prometheus: Prometheus) -> None:
    def rules() -> list[dict[str, str]]:
        (group,) = prometheus.ask("rules")["groups"]
        rule_states: list[dict[str, str]] = group["rules"]
        return rule_states

    wait_until(lambda: all(rule["health"] != "unknown" for rule in rules()), "each rule was evaluated")
    assert {rule["health"] for rule in rules()} == {"ok"}

    # Errors of the extender grow with each scrape.
    def waits() -> bool:
        return any(rule["name"] == "ExtenderAnswersWithErrors" and rule["state"] == "pending" for rule in rules())

    wait_until(waits, "the rule has seen the errors")
