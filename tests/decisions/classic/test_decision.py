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
    """Return the decision about the pod ``default/p`` of ``objects``."""
    loading = load_policy({**POLICY, **policy})
    assert loading.policy is not None, loading.errors
    algorithm = Registry(edition or Edition()).build_algorithm(loading.policy)
    scheduler = ClassicScheduler(ClassicSnapshot.from_objects(objects), algorithm)
    return CLASSIC.present(CLASSIC.decide_pod(scheduler, "default/p"))


def test_reasons_funnel_and_verdicts_agree_with_the_message_of_then() -> None:
    maker = ClassicMaker(Random(5))
    outcome_counts: Counter[str] = Counter()
    for number in range(60):
        raw = maker.scenario(f"s{number}")
        loading = load_policy({**POLICY, **raw.get("policy", {}), "extenders": []})
        if loading.policy is None:
            continue
        algorithm = (
            Registry(Edition("1.9")).build_algorithm()
            if number % 3 == 0
            else Registry().build_algorithm(loading.policy)
        )
        snapshot = ClassicSnapshot.from_objects([*raw["objects"], *raw["pending"]])
        for waiting in snapshot.pending:
            try:
                decision = CLASSIC.present(CLASSIC.decide_pod(ClassicScheduler(snapshot, algorithm), waiting.key))
            except Unprocessable:
                continue
            outcome_counts["stuck" if check(decision) else "fits"] += 1
            outcome_counts.update(reason.text for reason, _ in decision.count_reasons())
    assert outcome_counts["stuck"] > 10
    assert outcome_counts["fits"] > 10
    assert len(outcome_counts) > 15


def check(decision: ClassicDecision) -> bool:
    """Hold all that is told of one pod together; whether it fits nowhere."""
    explanation, names = decision.explanation, decision.explanation.nodes
    stages = decision.build_stages()
    assert stages[0].remaining - sum(stage.lost for stage in stages if stage.kind == "filter") == len(
        explanation.feasible
    )
    reason_counts: Counter[str] = Counter()
    for position, row in enumerate(decision.rows(list(range(len(names))))):
        verdicts = decision.verdicts(position)
        decisive = [verdict for verdict in verdicts if verdict.decisive]
        assert len(decisive) == (0 if row.place else 1)
        for verdict in verdicts:
            if verdict.state == "fail" and verdict.is_evaluated and verdict.status:
                assert verdict.reading is not None
                assert verdict.reading.text
                reason_counts.update(verdict.status.reasons)
    assert {reason.text: number for reason, number in decision.count_reasons()} == reason_counts
    if explanation.feasible.size:
        return False
    reasons_text = ", ".join(sorted(f"{number} {reason}" for reason, number in reason_counts.items()))
    assert explanation.message == f"0/{len(names)} nodes are available: {reasons_text}."
    miss = decision.nearest_miss()
    assert miss is not None
    assert decision.build_headline().quote == explanation.message
    return True


@pytest.mark.parametrize(
    ("conditions", "reading_text"),
    [
        ([("OutOfDisk", "True")], "a reports that it is out of disk space"),
        ([("NetworkUnavailable", "Unknown")], "a reports that its network is not set up"),
        ([("Ready", "Unknown")], "a does not report that it is ready"),
    ],
)
def test_conditions_are_read_in_plain_words(conditions: list[tuple[str, str]], reading_text: str) -> None:
    raw = node("a")
    raw["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions]
    miss = decision(raw, pod("p")).nearest_miss()
    assert miss is not None
    assert miss.reading.text == reading_text
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
        reading_text = stuck.summarize_reason(RejectionReason("", reason))
        assert reading_text != reason
        assert stuck.summarize_reason(RejectionReason("", then.NAMES[reason])) == reading_text
        verb = reading_text.partition(" ")[0]
        assert verb in ("has", "is", "does", "would", "cannot")
    assert set(words.LONG.values()) == reasons


def test_a_part_of_the_nodes_and_gates_of_today_are_said() -> None:
    gated_pod = pod("p", schedulingGates=[{"name": "wait"}])
    presented = decision(*(node(f"n{number}") for number in range(120)), gated_pod, edition=Edition(percentage=10))
    notes = " ".join(presented.build_headline().details)
    assert "percentageOfNodesToScore 10" in notes
    assert "Scheduling gates did not exist then" in notes
