"""Scenarios with a descheduler, and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

PACK = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: pack
  pluginConfig:
  - name: HighNodeUtilization
    args:
      thresholds:
        cpu: 30
  plugins:
    balance:
      enabled: [HighNodeUtilization]
"""


def scenario(name: str, **more: Any) -> Json:
    """Seven pods on three nodes, of which the default policy leaves two below 30 percent."""
    container = {"name": "main", "resources": {"requests": {"cpu": "500m"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 7, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    nodes = {"count": 3, "name": "node", "allocatable": {"cpu": "4", "memory": "16Gi"}}
    return {
        "apiVersion": "kschedweb/v1",
        "kind": "Scenario",
        "name": name,
        "base": {"empty": True},
        "changes": [{"addNodes": nodes}, {"addWorkload": {"manifest": manifest}}],
        "run": {"until": "30m"},
        **more,
    }


def _packing() -> Json:
    from kschedweb.engine.documents.marked_documents import parse_document

    document: Json = parse_document(PACK).data
    return document


FIGHTING = scenario("fighting", descheduler={"name": "pack@1", "every": "5m", "policy": _packing()})


def run(user: User) -> str:
    """A run whose descheduler and scheduler undo one another, done; its id."""
    from kschedweb.engine.documents.marked_documents import as_yaml
    from kschedweb.playground.runs.services import run_start
    from kschedweb.playground.scenarios.selectors import revision_get
    from kschedweb.playground.scenarios.services import scenario_create
    from tests.support.seed_runs import work_off

    scenario = scenario_create(text=as_yaml(FIGHTING), author=user)
    started_run = run_start(user=user, revision=revision_get(scenario), policy="default")
    work_off()
    return str(started_run.pk)
