"""Messages of the engine and of jobs are in the catalogues as they are raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import translation

from kschedweb.advice.moves import words
from kschedweb.decisions import models as questions
from kschedweb.engine.planning import evictable
from kschedweb.engine.planning.move_refusals import MoveRefusals
from kschedweb.engine.planning.trial_cluster import MoveOutcome
from kschedweb.engine.simulation.descheduling import STOPPED
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.registry import specs_of
from kschedweb.engine.studies.moves import dry_run
from kschedweb.engine.studies.moves.repeated_cycles import Fight
from kschedweb.jobs.inquiries import InquiryKind
from kschedweb.playground.capacity import models as capacity
from kschedweb.web import messages
from kschedweb.web.languages import in_english
from kschedweb.web.translating import fix_spacing
from tests.support.pseudo import BEGINS, ENDS, pseudo_language
from tests.support.said import refusals, sampled, yielded


def stop_reasons() -> list[str]:
    no_refusals, useless_moves, returning_moves = MoveRefusals(), MoveRefusals(), MoveRefusals()
    useless_moves.useless = 3
    returning_moves.back = 1
    return [refusals.find_stop().text for refusals in (no_refusals, useless_moves, returning_moves)]


def fight_sentences() -> list[str]:
    fights = [
        Fight(plugin="LowNodeUtilization", scorer=scorer, pods=pods, workloads=(), times=3)
        for scorer in ("NodeResourcesFit", "")
        for pods in (("default/a",), ("default/a", "default/b"))
    ]
    moves = [dry_run.NO_CONTROLLER, dry_run.ENDED, dry_run.NO_USE, dry_run.NO_POD_USE, dry_run.BY_SHARE]
    stays = [evictable.DAEMON, evictable.STATIC, evictable.BARE, evictable.EVICTION_OPT_OUT, evictable.PROTECTED]
    stays += [evictable.GROUPED, evictable.DEVICES, evictable.LEAVING, evictable.OTHER_SCHEDULER]
    ends = [
        MoveRefusals.stop_reached().text,
        MoveRefusals.stop_out_of_time().text,
        MoveRefusals.stop_at_max_moves(1200).text,
        *stop_reasons(),
    ]
    measures = [text for spec in specs_of({"resource": ("cpu",)}) for text in (spec.label, spec.sentence)]
    return [*moves, *stays, *ends, *(fight.sentence for fight in fights), *measures, *(group.label for group in GROUPS)]


@pytest.mark.parametrize("text", fight_sentences())
def test_a_remark_of_the_engine_is_translated(text: str) -> None:
    assert messages.translate_words(text) == text
    with pseudo_language() as code, translation.override(code):
        assert messages.translate_words(text).startswith(BEGINS)
        assert messages.translate_words(text).endswith(ENDS)


def test_several_sentences_are_translated_one_by_one() -> None:
    refusals = MoveRefusals()
    for outcome in (MoveOutcome(budget="default/web"), MoveOutcome(node="node-1", back=True)):
        refusals.record_outcome(outcome, gained=False)
    with translation.override("zh-hans"):
        assert messages.translate_words(refusals.find_stop().text).isascii() is False
        assert "Disruption" not in messages.translate_words(refusals.find_stop().text)
        assert "come back" not in messages.translate_words(refusals.find_stop().text)


def test_what_a_dry_run_finds_is_stored_in_english() -> None:
    counts = {"lands": 1, "returns": 2, "unfit": 0, "gone": 1}
    dry_run = {"skipped": "", "evicted": 4, "counts": counts, "emptied": ["node-1"]}
    english = (
        "The descheduler would evict 4 pods: 1 land on another node, 2 come back to the node that they left and "
        "1 are not replaced; 1 node would be empty"
    )
    assert words.render_sentence(dry_run) == english
    with translation.override("ja"):
        assert words.render_sentence(dry_run).startswith("deschedulerはPod 4個を退避させる：")
        assert words.render_english(dry_run) == english


PACKAGE = Path(messages.__file__).parents[2]
# Parts of a sentence that stand elsewhere, and what is the reason of somebody else.
ELSEWHERE = {"7: 7", "7.", "7, line 7: 7", "", "Try: 7", "7 recorded pods of 7 do not come: it was 7 before"}


ROOMS = (
    "advice", "clusters", "decisions", "engine/autoscaling", "engine/simulation", "engine/studies", "fleet", "jobs",
    "live", "playground", "watermarks",
)  # fmt: skip


def list_sources(*rooms: str) -> list[Path]:
    """The modules below these folders that are not about how a score is worked out."""
    paths = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]
    return [path for path in paths if not {"migrations", "classic", "presenters"} & set(path.parts)]


def sample_job_texts() -> set[str]:
    """A sample of every step, title and error of a job."""
    samples: set[str] = set()
    for path in list_sources(*ROOMS):
        samples |= set(sampled(path, calls={"step", "progress", "report_progress", "_step"}, place=0))
        samples |= set(sampled(path, calls={"_step", "wrap_progress"}, place=1))
        samples |= set(sampled(path, calls={"job_progress"}, keyword="step"))
        samples |= set(sampled(path, calls={"job_start"}, keyword="title"))
        samples |= set(re.findall(r'missing="([^"]+)"', path.read_text())) if path.name == "services.py" else set()
        samples |= set(refusals(path, parameter_names={"step", "progress", "report_progress"}))
    samples.add(InquiryKind.missing)
    return samples - ELSEWHERE


def sample_notes() -> set[str]:
    """A sample of every note of what was left out, and of every reason why a line of a file is."""
    samples: set[str] = set()
    for path in list_sources("engine/studies/traces", "engine/studies/prepare", "engine/studies/play"):
        samples |= set(sampled(path, calls={"add_note", "report_problem", "RowError"}, place=0))
        samples |= set(sampled(path, calls={"left_out"}, place=1))
        samples |= {text for text in sampled(path, calls={"append"}, place=0) if " " in text}
    for path in list_sources("playground/recordings"):
        samples |= set(sampled(path, calls={"_add_note"}, place=0))
    samples |= set(yielded(PACKAGE / "engine/studies/prepare/history.py", function="list_notes"))
    samples |= set(yielded(PACKAGE / "engine/studies/gate/gate.py", function="_limit_notes"))
    samples.add(STOPPED)
    return samples - ELSEWHERE


def sample_warnings() -> set[str]:
    """A sample of every warning about a configuration of kube-scheduler."""
    advice, samples = PACKAGE / "engine/config/advice.py", set[str]()
    for function in re.findall(r"^def (_\w+)\(", advice.read_text(), re.MULTILINE):
        samples |= set(yielded(advice, function=function))
    return samples


def test_what_is_said_is_found() -> None:
    """Else the two tests below hold nothing."""
    assert {"Storing the snapshot", "Read cluster 7", "Trials:", "Read 7 objects", "Under 7:"} <= sample_job_texts()
    assert "The question was deleted before there was an answer." in sample_job_texts()
    assert {"Pod 7: is left out: 7", "7 is empty", "and 7 further notes"} <= sample_notes()
    assert {"7 takes no arguments", "names no verb, so the extender is never asked"} <= sample_warnings()
    assert (len(sample_job_texts()) > 70, len(sample_notes()) > 40, len(sample_warnings()) > 25) == (True, True, True)


@pytest.mark.parametrize(
    "title", [f"{in_english(question_kind.label)}: default/a, demo" for question_kind in questions.QuestionKind]
)
def test_titles_of_questions_are_translated(title: str) -> None:
    with pseudo_language() as code, translation.override(code):
        assert messages.translate_words(title).startswith(BEGINS)


@pytest.mark.parametrize("kind", [in_english(question_kind.label).lower() for question_kind in capacity.CapacityKind])
def test_titles_of_questions_about_capacity_are_translated(kind: str) -> None:
    with pseudo_language() as code, translation.override(code):
        assert messages.translate_words(f"Capacity: {kind}, demo").count(BEGINS) == 2


@pytest.mark.parametrize("sample_texts", [sample_job_texts, sample_notes, sample_warnings])
def test_what_is_stored_of_jobs_and_scenarios_is_translated(sample_texts: Callable[[], set[str]]) -> None:
    with pseudo_language() as code, translation.override(code):
        assert sorted(text for text in sample_texts() if BEGINS not in messages.translate_words(text)) == []


def test_a_note_on_a_file_is_translated_and_its_name_stays() -> None:
    with translation.override("zh-hans"):
        translated = messages.translate_words(
            "trace.csv, line 7: is left out: creation_time is 'x', which is no number"
        )
    assert translated == "trace.csv，第 7 行：已略去：creation_time 是 'x'，不是数字"
    with translation.override("ja"):
        assert (
            messages.translate_words("trace.csv: 3 more lines are left out") == "trace.csv：ほかに3行が除外されました"
        )
        assert messages.translate_words("Elastic: a shop by day") == "Elastic: a shop by day"


@pytest.mark.parametrize(
    ("text", "in_chinese"),
    [
        ("its node is only 4 points ahead, fewer than 10", "其节点仅领先 4 分，少于 10"),
        ("Skew of CPU: 5 points; allowed: none.", "Skew of CPU：5 个百分点；"),
    ],
)
def test_amounts_and_reasons_are_told_whole(text: str, in_chinese: str) -> None:
    with translation.override("zh-hans"):
        assert messages.translate_words(text).startswith(in_chinese)


def test_in_chinese_blanks_stand_beside_latin_words_alone() -> None:
    assert fix_spacing("2 个 Pod的 内存 和 CPU") == "2 个 Pod的 内存 和 CPU"
    with translation.override("zh-hans"):
        assert fix_spacing("2 个 Pod的 内存 和CPU") == "2 个 Pod 的内存和 CPU"
