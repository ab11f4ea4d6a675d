"""Answers of a workload's page, in words, to the questions that people asked of Kueue in public."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.explanation import explain_workload
from kschedweb.engine.queueing.explaining.queue_state import read_state
from kschedweb.queues import presentation
from tests.engine.queueing.explaining.test_questions import NOW, read_question
from tests.support.queue_loops import BORROWING_LOOP, SHARE_LOOP


@pytest.mark.parametrize(
    ("question", "workload", "sentences"),
    [
        ("2833-who-is-ahead", "waits-2", ["waits-2 fits, and 2 workloads of its queue come first"]),
        ("4580-would-it-run-now", "probe-5", ["probe-5 fits and is next in team"]),
        ("10131-tree-fair", "c-new", ["have equal shares: Kueue asks one of them by chance"]),
        ("10131-tree", "c-new", ["Has to go: its queue borrows", "Stays: those before it are enough."]),
        ("3779-preemption-loop", "a2", ["may evict nobody for it", "its queue's share would become smaller"]),
        ("7101-final-share", "two-3", ["its queue's share is larger than this queue's would be"]),
        ("10171-victims-below-nominal", "a", ["Stays: its queue uses no more than its own quota.", "lendingLimit"]),
        ("4329-sum-fits", "one-pod-of-8", ["Quota counts sums: empty, the 2 nodes of gpu hold 0 of its 1 pod."]),
        ("5039-no-domains-label", "job", ["1 node without the label of a level"]),
        ("5039-no-domains-notready", "job", ["1 node not ready or cordoned"]),
        ("5039-no-domains-selector", "job", ["1 node with other labels"]),
        ("4809-strict-fifo-holds-quota", "be1", ["g2 of guaranteed comes first, and keeps what its queue could use"]),
        ("7301-sticky-head", "high", ["high gets its quota once it has evicted 1 workload"]),
        ("16049-own-victims-while-borrowing", "high", ["nobody is asked, as the request exceeds the queue's quota"]),
        ("3948-quota-on-the-cohort", "g", ["g gets its quota once it has evicted 1 workload"]),
        ("13607-no-candidates", "new", ["new fits and is next in target"]),
    ],
)
def test_the_page_answers(question: str, workload: str, sentences: list[str]) -> None:
    state = read_question(question)
    answer = explain_workload(state, f"default/{workload}", run_seconds=600.0)
    page = str(presentation.describe_workload(answer, state))
    assert [sentence for sentence in sentences if sentence not in page] == []


@pytest.mark.parametrize(
    ("scenario", "workload", "sentence"),
    [
        (BORROWING_LOOP, "big", "default/big evicts default/small (borrowWithinCohort). The next cycle lets"),
        (SHARE_LOOP, "newer", "default/newer evicts default/wide (fair sharing). The order of shares lets"),
    ],
    ids=["borrowing", "fair sharing"],
)
def test_the_page_names_the_loop_ahead_of_time_and_its_rule(scenario: Json, workload: str, sentence: str) -> None:
    state = read_state(scenario["objects"], NOW, uses_fair_sharing=scenario["options"]["fairSharing"])
    answer = explain_workload(state, f"default/{workload}", run_seconds=3600.0)
    (loop,) = presentation.describe_workload(answer, state)["forecast"]["loops"]
    assert sentence in loop
