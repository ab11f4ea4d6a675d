"""Warnings for what kube-scheduler takes and does not heed."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.config import default_document
from kschedweb.engine.releases import load

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def of_profile(**profile: Any) -> dict[str, Any]:
    return {"profiles": [profile]}


def plugins(**points: Any) -> dict[str, Any]:
    return of_profile(plugins=points)


def config(name: str, args: Any) -> dict[str, Any]:
    return of_profile(pluginConfig=[{"name": name, "args": args}])


def enabled(name: str, weight: int | None = None) -> dict[str, Any]:
    return {"enabled": [{"name": name} | ({} if weight is None else {"weight": weight})]}


def disabled(*names: str) -> dict[str, Any]:
    return {"disabled": [{"name": name} for name in names]}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FIT = config("NodeResourcesFit", {"ignoredResources": ["example.com/a"]})
MANAGED = [{"name": "example.com/b", "ignoredByScheduler": True}]
CASES: list[tuple[dict[str, Any], str]] = [
    ({"percentageOfNodesToScore": 100}, "percentageOfNodesToScore: at 100 "),
    (of_profile(percentageOfNodesToScore=100), "profiles[0].percentageOfNodesToScore: at 100 "),
    ({"enableProfiling": False, "enableContentionProfiling": True}, "enableContentionProfiling: has no effect"),
    (
        {"leaderElection": {"leaderElect": False, "leaseDuration": "9s"}},
        "leaderElection.leaseDuration: has no effect while leaderElect is false",
    ),
    (
        {"leaderElection": {"renewDeadline": "6s", "retryPeriod": "5s"}},
        "leaderElection.renewDeadline: kube-scheduler takes this and ends at its start: renewDeadline must be greater",
    ),
    (config("Nope", {"x": 1}), 'profiles[0].pluginConfig[0]: there is no plugin "Nope"'),
    (config("NodeName", {"x": 1}), 'profiles[0].pluginConfig[0].args: "NodeName" takes no arguments'),
    (
        plugins(multiPoint=disabled("InterPodAffinity")) | {},
        "",
    ),
    (
        {
            "profiles": [
                {
                    "plugins": {"multiPoint": disabled("InterPodAffinity")},
                    "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}}],
                }
            ]
        },
        'profiles[0].pluginConfig[0]: "InterPodAffinity" is not enabled',
    ),
    (plugins(score=disabled("Nope")), 'profiles[0].plugins.score.disabled[0]: there is no plugin "Nope"'),
    (plugins(score=disabled("NodeName")), 'profiles[0].plugins.score.disabled[0]: "NodeName" does not run at score'),
    (plugins(filter=enabled("NodeName", 5)), "profiles[0].plugins.filter.enabled[0].weight: a weight counts at score"),
    (plugins(multiPoint=enabled("NodeName", 5)), 'profiles[0].plugins.multiPoint.enabled[0].weight: "NodeName" gives'),
    (plugins(score=enabled("ImageLocality", 0)), "profiles[0].plugins.score.enabled[0].weight: 0 counts as 1"),
    (plugins(permit=enabled("GangScheduling")), 'profiles[0].plugins.permit.enabled[0]: "GangScheduling" does nothing'),
    (
        plugins(preScore=disabled("TaintToleration")),
        'profiles[0].plugins.preScore: "TaintToleration" scores but is off at preScore',
    ),
    (plugins(score=disabled("*")), "profiles[0].plugins.score: no plugin scores"),
    (
        config("NodeAffinity", {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}),
        f"profiles[0].pluginConfig[0].args.addedAffinity.{REQUIRED}: no term says anything",
    ),
    (
        config("NodeAffinity", {"addedAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}),
        f"profiles[0].pluginConfig[0].args.addedAffinity.{PREFERRED}[0].weight: a preference of weight 0",
    ),
    (
        {"extenders": [{"urlPrefix": "http://a", "filterVerb": "f", "weight": 3}]},
        "extenders[0].weight: has no effect without prioritizeVerb",
    ),
    ({"extenders": [{"urlPrefix": "http://a"}]}, "extenders[0]: names no verb"),
    (
        {"extenders": [{"urlPrefix": "http://a", "bindVerb": "b", "tlsConfig": {"serverName": "x"}}]},
        "extenders[0].tlsConfig: has no effect without enableHTTPS",
    ),
    (
        {"extenders": [{"urlPrefix": "https://a", "bindVerb": "b", "tlsConfig": {"caFile": "/x"}}]},
        "extenders[0].tlsConfig.caFile: is read on kube-scheduler's machine",
    ),
    (
        FIT | {"extenders": [{"urlPrefix": "http://a", "filterVerb": "f", "managedResources": MANAGED}]},
        "profiles[0].pluginConfig[0].args.ignoredResources: is replaced",
    ),
]


@pytest.mark.parametrize(("fields", "warning"), CASES, ids=[warning or "none" for _, warning in CASES])
def test_what_is_not_heeded_is_said(fields: dict[str, Any], warning: str) -> None:
    loaded = load(HEAD | fields)
    assert loaded.errors == []
    if warning:
        assert [text for text in loaded.warnings if text.startswith(warning)] == loaded.warnings != []
    else:
        assert loaded.warnings == []


def test_a_new_policy_has_no_warnings() -> None:
    assert load(default_document()).warnings == []


def test_a_refused_document_has_no_warnings() -> None:
    assert load({"parallelism": 0, **HEAD, "percentageOfNodesToScore": 100}).warnings == []
