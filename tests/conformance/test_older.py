"""Configurations before v1, held against what kube-scheduler's own code made of them (recorded/older.jsonl.xz)."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from kschedweb.engine.config import Profile
from kschedweb.engine.releases import RELEASES, load

GOLDENS = Path(__file__).parent / "recorded" / "older.jsonl.xz"
LIMITS = {"EBSLimits", "GCEPDLimits", "AzureDiskLimits"}
BY_ROOM = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
FIT = "NodeResourcesFit"
SINCE = {"SchedulingGates", "DynamicResources", "NodeDeclaredFeatures"}


def rows() -> list[dict[str, Any]]:
    with lzma.open(GOLDENS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ROWS = rows()
VERSIONS = ("v1beta1", "v1beta2", "v1beta3")


def version(row: dict[str, Any]) -> str:
    return str(row["config"]["apiVersion"].rpartition("/")[2])


def of_go(profile: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The plugins of each extension point with their weights, as kube-scheduler's code wrote them."""
    return {
        point: {
            plugin["name"]: plugin.get("weight") or 1
            for plugin in plugin_set.get("enabled") or ()
            if plugin["name"] not in LIMITS
        }
        for point, plugin_set in profile["plugins"].items()
    }


def by_room(scores: dict[str, int]) -> tuple[str, dict[str, int]]:
    """The heaviest plugin that scores by room, and the scores with today's plugin in the place of all of them."""
    room_plugins = [name for name in (FIT, *BY_ROOM) if name in scores]
    today_scores = {
        name: weight for name, weight in scores.items() if name not in BY_ROOM and name != "NodePreferAvoidPods"
    }
    if not room_plugins:
        return "", today_scores
    heaviest = max(room_plugins, key=scores.__getitem__)
    return heaviest, {**today_scores, FIT: scores[heaviest]}


def ours(profile: Profile, point: str) -> dict[str, int]:
    """The plugins at ``point``; VolumeBinding scores since a later release, whatever the configuration's version."""
    since = SINCE | ({"VolumeBinding"} if point == "score" else set())
    return {ref.name: ref.weight or 1 for ref in profile.points[point] if ref.name not in since}


@pytest.mark.parametrize("name", VERSIONS)
def test_the_same_plugins_filter_and_score_with_the_same_weights(name: str) -> None:
    differing = []
    for row in ROWS:
        if version(row) != name:
            continue
        loaded = load(row["config"])
        assert loaded.configuration is not None, (row["config"], loaded.errors)
        for index, go_profile in enumerate(row["expected"]["document"]["profiles"]):
            go, profile = of_go(go_profile), loaded.configuration.profiles[index]
            for point in ("queueSort", "filter", "postFilter", "score", "reserve", "permit", "bind", "postBind"):
                expected = go.get(point, {})
                if go.get("multiPoint"):
                    continue
                if point == "score":
                    expected = by_room(expected)[1]
                if ours(profile, point) != expected:
                    differing.append((row["config"], point, expected, ours(profile, point)))
    assert differing == []


def test_v1beta3_is_what_its_own_v1_is_today() -> None:
    checked = 0
    for row in ROWS:
        if version(row) != "v1beta3":
            continue
        document = json.loads(json.dumps(row["expected"]["document"]))
        for profile in document["profiles"]:
            for plugin_set in profile["plugins"].values():
                if "enabled" in plugin_set:
                    plugin_set["enabled"] = [plugin for plugin in plugin_set["enabled"] if plugin["name"] not in LIMITS]
            profile["plugins"]["multiPoint"].setdefault("disabled", []).append({"name": "*"})
        mine, gos = (load(config, RELEASES["1.36"]).configuration for config in (row["config"], document))
        assert mine is not None
        assert gos is not None, load(document).errors
        assert (mine.percentage_of_nodes_to_score, mine.parallelism) == (
            gos.percentage_of_nodes_to_score,
            gos.parallelism,
        )
        assert mine.extenders == gos.extenders
        for mine_profile, go_profile in zip(mine.profiles, gos.profiles, strict=True):
            for point in mine_profile.points:
                old_plugins = [ref for ref in mine_profile.points[point] if ref.name not in SINCE]
                assert old_plugins == [ref for ref in go_profile.points[point] if ref.name not in SINCE], (
                    row["config"],
                    point,
                )
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("name", VERSIONS)
def test_arguments_mean_the_same(name: str) -> None:
    checked = 0
    for row in ROWS:
        if version(row) != name:
            continue
        configuration = load(row["config"]).configuration
        assert configuration is not None
        for index, go_profile in enumerate(row["expected"]["document"]["profiles"]):
            mine = configuration.profiles[index].args
            args = {entry["name"]: entry["args"] for entry in go_profile["pluginConfig"]}
            strategy = BY_ROOM.get(by_room(of_go(go_profile).get("score", {}))[0], "")
            for plugin, go_args in args.items():
                expected = {key: value for key, value in go_args.items() if key not in ("kind", "apiVersion")}
                if plugin in BY_ROOM or plugin not in mine:
                    continue
                if plugin == FIT and strategy:
                    of_strategy = args[next(entry for entry in BY_ROOM if BY_ROOM[entry] == strategy)]
                    expected["scoringStrategy"] = {"type": strategy, "resources": of_strategy["resources"]}
                    if "shape" in of_strategy:
                        expected["scoringStrategy"]["requestedToCapacityRatio"] = {"shape": of_strategy["shape"]}
                own_args = {key: value for key, value in mine[plugin].items() if key not in ("kind", "apiVersion")}
                assert {key: own_args.get(key) for key in expected} == expected, (row["config"], plugin)
                checked += 1
    assert checked > 100
