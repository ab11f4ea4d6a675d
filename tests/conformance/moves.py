"""Outcome for a pod, derived step by step from two schedulers' answers in plain data."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.comparison import MoveRule, MoveVerdict, PodMove, RuleKind, RuleSide

CONFIG: Json = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PROFILES: list[Json] = [
    {},
    {
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
        "plugins": {"score": {"disabled": [{"name": "PodTopologySpread"}]}},
    },
    {"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}}},
    {"plugins": {"multiPoint": {"disabled": [{"name": "TaintToleration"}, {"name": "NodeAffinity"}]}}},
]


def of_today(scenario: Json, profile: Json) -> Json:
    """A classic scenario with a profile in place of its policy."""
    shared_keys = ("name", "objects", "pending", "mode")
    shared_fields = {key: value for key, value in scenario.items() if key in shared_keys}
    return shared_fields | {"config": {**CONFIG, "parallelism": 1, "profiles": [profile]}}


def check(move: PodMove, classic: Json, profile: Json) -> None:
    """Assert that ``move`` is what the two explanations come to."""
    ours, theirs = classic.get("best") or [], profile.get("best") or []
    common = set(ours) & set(theirs)
    assert move.verdict is verdict(ours, theirs, common), move
    assert (move.classic_best, move.profile_best) == (len(ours), len(theirs))
    assert move.classic in (common or ours or [""]), move
    assert move.profile in (common or theirs or [""]), move
    if common or not (ours or theirs):
        assert move.rule is None
        return
    assert move.rule is not None
    refusals = [*refused_by_profile(profile, move.classic), *refused_by_classic(classic, move.profile)]
    if refusals:
        assert rejection_key(move.rule) == refusals[0], move
        return
    assert move.rule.kind is RuleKind.PREFERS
    shares = {
        (side, name, lead): lead / total_span(answer)
        for side, answer in ((RuleSide.CLASSIC, classic), (RuleSide.PROFILE, profile))
        for name, lead in leads(answer, move).items()
    }
    share = shares[move.rule.side, move.rule.name, move.rule.lead or 0]
    assert move.rule.share == share == max(shares.values()) > 0


def verdict(ours: list[str], theirs: list[str], common: set[str]) -> MoveVerdict:
    if common:
        return MoveVerdict.SAME if ours == theirs and len(ours) == 1 else MoveVerdict.EITHER
    if ours and theirs:
        return MoveVerdict.MOVES
    if not ours and not theirs:
        return MoveVerdict.NEITHER
    return MoveVerdict.ONLY_CLASSIC if ours else MoveVerdict.ONLY_PROFILE


def rejection_key(rule: MoveRule) -> tuple[str, RuleSide, list[str]]:
    """Return the parts of a rejection that are compared: reasons of one status come in any order."""
    assert rule.kind in (RuleKind.REJECTS, RuleKind.FAILS)
    return rule.name, rule.side, sorted(rule.reason.split(", "))


def refused_by_profile(answer: Json, node: str) -> list[tuple[str, RuleSide, list[str]]]:
    """Return the profile's reasons against ``node`` for the pod, nothing if it has none."""
    if not node or node in (answer.get("feasible") or []):
        return []
    rejection = answer["rejected"].get(node) or answer.get("preFilter")
    if rejection is None:  # left out by PreFilter
        return [("NodeAffinity", RuleSide.PROFILE, ["node(s) didn't satisfy plugin(s) [NodeAffinity]"])]
    return [(rejection.get("plugin", ""), RuleSide.PROFILE, sorted(", ".join(rejection["reasons"]).split(", ")))]


def refused_by_classic(answer: Json, node: str) -> list[tuple[str, RuleSide, list[str]]]:
    if not node or node in (answer.get("feasible") or []):
        return []
    if "error" in answer:
        return [("", RuleSide.CLASSIC, sorted(answer["error"].split(", ")))]
    by = next(name for name, nodes in answer["predicates"].items() if nodes.get(node) == answer["rejected"][node])
    return [(by, RuleSide.CLASSIC, sorted(", ".join(answer["rejected"][node]).split(", ")))]


def leads(answer: Json, move: PodMove) -> dict[str, int]:
    """By how much each score prefers its side's node to the other's."""
    classic = "priorities" in answer
    scores = answer["priorities"] if classic else answer.get("scores", {})
    own_node, other_node = (move.classic, move.profile) if classic else (move.profile, move.classic)
    key = "reduced" if classic else "normalized"
    return {
        name: columns["weight"] * (columns[key][own_node] - columns[key][other_node])
        for name, columns in scores.items()
    }


def total_span(answer: Json) -> int:
    return max(answer["total"].values()) - min(answer["total"].values())
