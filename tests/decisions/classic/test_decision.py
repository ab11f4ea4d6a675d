"""A classic explanation arranged for a person: it agrees with the message of then, and has words for every reason."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from kschedweb.decisions.classic import words
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.decisions.deciders import CLASSIC
from kschedweb.decisions.words import RejectionReason
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic import reasons as then
from kschedweb.web.errors import Unprocessable
from tests.conformance.making.classic import ClassicMaker
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import POLICY


def decision(*objects: dict, edition: Edition | None = None, **policy: object) -> ClassicDecision:
    """What is said of the pod ``default/p`` of ``objects``."""
    loaded = load_policy({**POLICY, **policy})
    assert loaded.policy is not None, loaded.errors
    algorithm = Registry(edition or Edition()).build_algorithm(loaded.policy)
    scheduler = ClassicScheduler(ClassicSnapshot.from_objects(objects), algorithm)
    return CLASSIC.present(CLASSIC.decide_pod(scheduler, "default/p"))


def test_reasons_funnel_and_verdicts_agree_with_the_message_of_then() -> None:
    maker = ClassicMaker(Random(5))
    told: Counter[str] = Counter()
    for number in range(60):
        raw = maker.scenario(f"s{number}")
        loaded = load_policy({**POLICY, **raw.get("policy", {}), "extenders": []})
        if loaded.policy is None:
            continue
        algorithm = (
            Registry(Edition("1.9")).build_algorithm() if number % 3 == 0 else Registry().build_algorithm(loaded.policy)
        )
        snapshot = ClassicSnapshot.from_objects([*raw["objects"], *raw["pending"]])
        for waiting in snapshot.pending:
            try:
                found = CLASSIC.present(CLASSIC.decide_pod(ClassicScheduler(snapshot, algorithm), waiting.key))
            except Unprocessable:
                continue
            told["stuck" if check(found) else "fits"] += 1
            told.update(reason.text for reason, _ in found.count_reasons())
    assert told["stuck"] > 10
    assert told["fits"] > 10
    assert len(told) > 15


def check(found: ClassicDecision) -> bool:
    """Hold all that is told of one pod together; whether it fits nowhere."""
    explanation, names = found.explanation, found.explanation.nodes
    stages = found.build_stages()
    assert stages[0].remaining - sum(stage.lost for stage in stages if stage.kind == "filter") == len(
        explanation.feasible
    )
    asked: Counter[str] = Counter()
    for position, row in enumerate(found.rows(list(range(len(names))))):
        verdicts = found.verdicts(position)
        decisive = [verdict for verdict in verdicts if verdict.decisive]
        assert len(decisive) == (0 if row.place else 1)
        for verdict in verdicts:
            if verdict.state == "fail" and verdict.is_evaluated and verdict.status:
                assert verdict.reading is not None
                assert verdict.reading.text
                asked.update(verdict.status.reasons)
    assert {reason.text: number for reason, number in found.count_reasons()} == asked
    if explanation.feasible.size:
        return False
    listed = ", ".join(sorted(f"{number} {reason}" for reason, number in asked.items()))
    assert explanation.message == f"0/{len(names)} nodes are available: {listed}."
    miss = found.nearest_miss()
    assert miss is not None
    assert found.build_headline().quote == explanation.message
    return True


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([("OutOfDisk", "True")], "a reports that it is out of disk space"),
        ([("NetworkUnavailable", "Unknown")], "a reports that its network is not set up"),
        ([("Ready", "Unknown")], "a does not report that it is ready"),
    ],
)
def test_conditions_are_read_in_plain_words(conditions: list[tuple[str, str]], said: str) -> None:
    raw = node("a")
    raw["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions]
    miss = decision(raw, pod("p")).nearest_miss()
    assert miss is not None
    assert miss.reading.text == said
    assert conditions[0][0] in miss.reading.remedy


def test_a_label_that_is_ruled_out_is_named() -> None:
    rule = {"name": "NoOld", "argument": {"labelsPresence": {"labels": ["old", "odd"], "presence": False}}}
    old = decision(node("a", labels={"old": ""}), pod("p"), edition=Edition("1.9"), predicates=[rule])
    miss = old.nearest_miss()
    assert miss is not None
    assert miss.reading.text == "a has the label old, which the policy rules out"


def test_what_is_given_away_too_often_is_told_apart_from_what_is_lacking() -> None:
    full = pod("busy", on="a", requests={"memory": "9Gi"})
    stuck = decision(node("a"), full, pod("p", requests={"cpu": "1"}))
    assert stuck.build_headline().title == "p is pending: every node has more memory requested than it has"
    miss = stuck.nearest_miss()
    assert miss is not None
    assert "pods on a request 1Gi memory more than its 8Gi memory" in miss.reading.text


def test_a_full_node_says_how_many_pods_it_runs() -> None:
    stuck = decision(node("a", allocatable={"pods": "1"}), pod("q", on="a"), pod("p"))
    assert stuck.build_headline().title == "p is pending: every node has no room for another pod"
    miss = stuck.nearest_miss()
    assert miss is not None
    assert miss.reading.text == "a runs 1 of at most 1 pods"


def test_every_reason_has_general_words_and_is_known_by_its_short_name() -> None:
    reasons = {value for name, value in vars(then).items() if name.isupper() and isinstance(value, str)}
    stuck = decision(node("a", unschedulable=True), pod("p"))
    for reason in reasons:
        said = stuck.summarize_reason(RejectionReason("", reason))
        assert said != reason
        assert stuck.summarize_reason(RejectionReason("", then.NAMES[reason])) == said
        verb = said.partition(" ")[0]
        assert verb in ("has", "is", "does", "would", "cannot")
    assert set(words.LONG.values()) == reasons


def test_a_part_of_the_nodes_and_gates_of_today_are_said() -> None:
    gated = pod("p", schedulingGates=[{"name": "wait"}])
    found = decision(*(node(f"n{number}") for number in range(120)), gated, edition=Edition(percentage=10))
    notes = " ".join(found.build_headline().details)
    assert "percentageOfNodesToScore 10" in notes
    assert "Scheduling gates did not exist then" in notes
