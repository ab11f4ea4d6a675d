"""HumanApproval: which pods wait, for whom, and why; what configurations it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.accounts.roles import ALLOWED, Action
from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.interface import AskingPlugin, Cycle
from kschedweb.engine.framework.status import Code
from kschedweb.engine.plugins.humanapproval import CREATED_BY, HumanApproval, describe_request, format_duration
from kschedweb.engine.plugins.humanapproval.arguments import ROLES
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

ON = {"permit": {"enabled": [{"name": "HumanApproval"}]}}


def document(*rules: dict[str, Any], **args: Any) -> dict[str, Any]:
    config = {"name": "HumanApproval", "args": {"rules": list(rules), **args}}
    return CONFIGURATION | {"profiles": [{"plugins": ON, "pluginConfig": [config]}]}


def scheduler(*rules: dict[str, Any], objects: tuple[dict, ...] = (), **args: Any) -> Scheduler:
    loaded = load(document(*rules, **args))
    assert loaded.configuration is not None, loaded.errors
    return Scheduler(Snapshot.from_objects(objects or (node("a"), node("b"))), loaded.configuration)


def ask_for_approval(raw: dict, *rules: dict[str, Any], on: str = "a", margin: int | None = None, **args: Any) -> Any:
    engine = scheduler(*rules, objects=(node("a", labels={"pool": "gold"}), node("b")), **args)
    plugin = engine.framework(Pod.from_json(raw)).plugin("HumanApproval")
    return plugin.ask(Cycle(engine.snapshot, Pod.from_json(raw), decision=decided(raw, margin)), on)


def decided(raw: dict, margin: int | None) -> Decision:
    return Decision(Pod.from_json(raw).key, "", 0.0, "default-scheduler", node="a", margin=margin)


def errors(*rules: dict[str, Any], **args: Any) -> list[str]:
    return [str(error) for error in load(document(*rules, **args)).errors]


def test_the_roles_it_knows_are_those_that_may_approve() -> None:
    assert set(ROLES) == {role for role, actions in ALLOWED.items() if Action.APPROVE in actions}
    assert isinstance(HumanApproval({}), AskingPlugin)


def test_it_runs_only_where_it_is_enabled_and_without_rules_no_pod_waits() -> None:
    loaded = load(CONFIGURATION)
    assert loaded.configuration is not None
    refs = [ref.name for refs in loaded.configuration.profiles[0].points.values() for ref in refs]
    assert "HumanApproval" not in refs
    assert scheduler().schedule_one(Pod.from_json(pod("p"))).node


def test_a_rule_without_conditions_holds_every_pod_for_one_approver_and_an_hour() -> None:
    question = ask_for_approval(pod("p"), {})
    assert question["approvals"] == [{"role": "approver", "count": 1}]
    assert (question["seconds"], question["onTimeout"], question["ownPods"]) == (3600.0, "Deny", "Allow")
    assert (question["rules"], question["why"]) == (["rule 1"], [])
    assert describe_request(question) == "waiting for approval by one approver for 1 h"


@pytest.mark.parametrize(
    ("rule", "fits", "why"),
    [
        ({"namespaces": ["default", "x"]}, True, "it is in namespace default"),
        ({"namespaces": ["kube-system"]}, False, ""),
        ({"podSelector": {"matchLabels": {"app": "web"}}}, True, "its labels match (app=web)"),
        ({"podSelector": {"matchLabels": {"app": "db"}}}, False, ""),
        (
            {"podSelector": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}},
            True,
            "its labels match",
        ),
        ({"podSelector": {}}, True, "its labels match"),
        (
            {"namespaces": ["default"], "podSelector": {"matchLabels": {"app": "web"}}},
            True,
            "it is in namespace default and its labels match (app=web)",
        ),
        ({"minPriority": 100}, True, "its priority is 100 (100 or more)"),
        ({"minPriority": 101}, False, ""),
        ({"minPriority": 0, "maxPriority": 100}, True, "its priority is 100 (0 or more and 100 or less)"),
        ({"maxPriority": 99}, False, ""),
        ({"nodes": ["a"]}, True, "its node is a"),
        ({"nodes": ["b"]}, False, ""),
        ({"nodeSelector": {"matchLabels": {"pool": "gold"}}}, True, "the labels of node a match (pool=gold)"),
        ({"nodeSelector": {"matchLabels": {"pool": "tin"}}}, False, ""),
        ({"marginBelow": 4}, True, "its node is only 3 points ahead, fewer than 4"),
        ({"marginBelow": 3}, False, ""),
    ],
)
def test_a_pod_waits_where_it_meets_the_conditions(rule: dict[str, Any], fits: bool, why: str) -> None:
    question = ask_for_approval(pod("p", labels={"app": "web"}, priority=100), rule, margin=3)
    assert (question is not None) is fits
    if fits:
        assert question["why"] == [why]


def test_without_another_node_no_choice_is_a_close_one() -> None:
    assert ask_for_approval(pod("p"), {"marginBelow": 100}, margin=None) is None


@pytest.mark.parametrize(
    ("usage", "why"),
    [
        ({"cpuAbove": 79.5}, "80.0 % of the CPU of a is in use over 15m (limit 79.5 %)"),
        ({"cpuAbove": 80}, None),
        ({"memoryAbove": 1}, None),  # of the memory nothing is known
        ({"cpuAbove": 90, "window": "1h"}, "95.0 % of the CPU of a is in use over 1h (limit 90 %)"),
    ],
)
def test_a_node_in_use_above_its_watermark_asks(usage: dict[str, Any], why: str | None) -> None:
    engine = scheduler({"usage": usage})
    figures = {"a": {"updated": 0.0, "cpu": {"15m": 80.0, "1h": 95.0}}}
    engine.snapshot.watermarks = Watermarks.from_json({"nodes": figures}, engine.snapshot.names)
    plugin = engine.framework(Pod.from_json(pod("p"))).plugin("HumanApproval")
    question = plugin.ask(Cycle(engine.snapshot, Pod.from_json(pod("p"))), "a")
    assert (question["why"] if question else None) == ([why] if why else None)
    assert plugin.ask(Cycle(engine.snapshot, Pod.from_json(pod("p"))), "b") is None


def test_the_first_rule_that_fits_asks_or_all_of_them_at_their_strictest() -> None:
    rules = (
        {"name": "one", "timeout": "2h", "onTimeout": "Allow", "reason": "First."},
        {
            "name": "two",
            "timeout": "30m",
            "ownPods": "Forbid",
            "reason": "Second.",
            "approvals": [{"role": "approver", "count": 2}, {"role": "admin"}],
        },
    )
    first = ask_for_approval(pod("p"), *rules)
    assert (first["rules"], first["seconds"], first["onTimeout"]) == (["one"], 7200.0, "Allow")
    both = ask_for_approval(pod("p"), *rules, matching="All")
    assert both["rules"] == ["one", "two"]
    assert both["approvals"] == [{"role": "approver", "count": 2}, {"role": "admin", "count": 1}]
    assert (both["seconds"], both["onTimeout"], both["ownPods"]) == (1800.0, "Deny", "Forbid")
    assert both["reason"] == "First. Second."


def test_who_created_the_pod_is_what_its_annotation_says() -> None:
    raw = pod("p")
    assert ask_for_approval(raw, {})["createdBy"] == ""
    raw["metadata"]["annotations"] = {CREATED_BY: " alice "}
    assert ask_for_approval(raw, {})["createdBy"] == "alice"


def test_the_state_of_the_node_is_told_with_the_pod_on_it_placed_already_or_not() -> None:
    raw = pod("p", requests={"cpu": "500m", "memory": "1Gi"})
    running = pod("r", on="a", requests={"cpu": "1"})
    engine = scheduler({}, objects=(node("a"), running))
    plugin = engine.framework(Pod.from_json(raw)).plugin("HumanApproval")
    before = plugin.ask(Cycle(engine.snapshot, Pod.from_json(raw)), "a")["node"]
    assert before == {"cpu": [1500, 4000], "memory": [2**30, 8 * 2**30], "pods": [2, 110]}
    engine.bind_pod(Pod.from_json(raw), "a")
    assert plugin.ask(Cycle(engine.snapshot, Pod.from_json(raw)), "a")["node"] == before


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"timeout": "0s"}, 'rules[0].timeout: Invalid value: "0s": not in valid range (0s, 720h0m0s]'),
        ({"timeout": "721h"}, 'rules[0].timeout: Invalid value: "721h0m0s": not in valid range (0s, 720h0m0s]'),
        ({"onTimeout": "Wait"}, 'rules[0].onTimeout: Unsupported value: "Wait": supported values: "Deny", "Allow"'),
        ({"ownPods": "No"}, 'rules[0].ownPods: Unsupported value: "No": supported values: "Allow", "Forbid"'),
        (
            {"approvals": [{"role": "viewer"}]},
            'rules[0].approvals[0].role: Unsupported value: "viewer": supported values: "approver", "admin"',
        ),
        (
            {"approvals": [{"role": "admin"}, {"role": "admin"}]},
            'rules[0].approvals[1].role: Duplicate value: "admin"',
        ),
        (
            {"approvals": [{"role": "admin", "count": 21}]},
            "rules[0].approvals[0].count: Invalid value: 21: not in valid range [1, 20]",
        ),
        (
            {"minPriority": 2, "maxPriority": 1},
            "rules[0].minPriority: Invalid value: 2: must not be greater than maxPriority",
        ),
        ({"marginBelow": 0}, "rules[0].marginBelow: Invalid value: 0: must be greater than 0"),
        ({"usage": {}}, "rules[0].usage: Required value: cpuAbove or memoryAbove must be specified"),
        ({"usage": {"cpuAbove": 101.5}}, "rules[0].usage.cpuAbove: Invalid value: 101.5: not in valid range [0, 100]"),
        ({"namespaces": [""]}, "rules[0].namespaces[0]: Required value"),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "rules[0].podSelector.matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_path(rule: dict[str, Any], text: str) -> None:
    (error,) = errors(rule)
    assert error.endswith(text)


def test_a_rule_that_is_never_reached_is_told_of() -> None:
    loaded = load(document({}, {"nodes": ["a"]}))
    assert any("rules[1]" in str(warning) and "never reached" in str(warning) for warning in loaded.warnings)


def test_the_wait_may_be_longer_than_kube_schedulers_fifteen_minutes() -> None:
    engine = scheduler({"timeout": "48h"})
    framework = engine.framework(Pod.from_json(pod("p")))
    status, waits = framework.permit(Cycle(engine.snapshot, Pod.from_json(pod("p"))), "a")
    assert status.code is Code.WAIT
    assert waits == {"HumanApproval": 48 * 3600.0}


def test_an_explanation_says_for_whom_the_pod_would_wait_and_changes_nothing() -> None:
    engine = scheduler({"marginBelow": 1000, "reason": "Close choices are looked at."})
    question = engine.explain(Pod.from_json(pod("p"))).to_dict()
    assert question["asks"]["HumanApproval"]["margin"] == 0
    assert question["asks"]["HumanApproval"]["reason"] == "Close choices are looked at."
    assert not engine.snapshot.pods.slots
    assert "asks" not in scheduler({"nodes": ["z"]}).explain(Pod.from_json(pod("p"))).to_dict()


def test_a_placement_knows_its_margin_where_a_rule_asks_for_it() -> None:
    free, busy = node("free"), node("busy")
    running = pod("r", on="busy", requests={"cpu": "3", "memory": "6Gi"})
    engine = scheduler({"marginBelow": 1}, objects=(free, busy, running))
    wanting = Pod.from_json(pod("p", requests={"cpu": "100m"}))
    totals = sorted(engine.explain(wanting).total.tolist())
    placement = engine.find(wanting)
    assert placement.node == "free"
    assert placement.margin == totals[-1] - totals[-2] > 0
    assert engine.schedule_one(wanting).node == "free"


def test_where_nobody_is_asked_time_alone_decides() -> None:
    denied = scheduler({"timeout": "1h"}).schedule_one(Pod.from_json(pod("p")))
    assert denied.message.endswith("1 rejected due to timeout after waiting 1h0m0s at plugin HumanApproval.")
    assert denied.rejected_by == {"HumanApproval"}
    assert scheduler({"timeout": "1h", "onTimeout": "Allow"}).schedule_one(Pod.from_json(pod("p"))).node


@pytest.mark.parametrize(
    ("seconds", "text"), [(45, "45 s"), (3600, "1 h"), (5400, "1 h 30 min"), (90_000, "1 day 1 h"), (0.5, "0.5 s")]
)
def test_times_are_said_in_their_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


RULES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "approvals": st.lists(
                st.tuples(st.sampled_from(ROLES), st.integers(1, 20)),
                min_size=1,
                max_size=2,
                unique_by=lambda approval: approval[0],
            ).map(lambda approvals: [{"role": role, "count": count} for role, count in approvals]),
            "timeout": st.integers(1, 720 * 60).map(lambda minutes: f"{minutes}m"),
            "onTimeout": st.sampled_from(("Deny", "Allow")),
            "ownPods": st.sampled_from(("Allow", "Forbid")),
            "namespaces": st.just(["default"]) | st.just(["other"]),
        },
    ),
    max_size=4,
)


@given(rules=RULES)
def test_all_together_are_never_laxer_than_any_of_them_alone(rules: list[dict[str, Any]]) -> None:
    together = ask_for_approval(pod("p"), *rules, matching="All")
    alone = [single for rule in rules if (single := ask_for_approval(pod("p"), rule)) is not None]
    assert (together is None) == (not alone)
    for single in alone:
        counts = {item["role"]: item["count"] for item in together["approvals"]}
        assert all(counts[item["role"]] >= item["count"] for item in single["approvals"])
        assert together["seconds"] <= single["seconds"]
        assert together["onTimeout"] == "Deny" or single["onTimeout"] == "Allow"
        assert together["ownPods"] == "Forbid" or single["ownPods"] == "Allow"
