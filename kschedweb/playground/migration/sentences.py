"""Questions and answers in sentences, as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.comparison import MoveVerdict, RuleKind, RuleSide

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.releases.classic import Algorithm
    from kschedweb.playground.migration.models import Question
    from kschedweb.policies.models import Revision

CONVERSION = "its conversion"
SIDES = {RuleSide.CLASSIC: "classic policy", RuleSide.PROFILE: "profile"}
# Words and meaning of each verdict, differences first.
VERDICTS = {
    MoveVerdict.MOVES: ("would move", "The two could choose no node in common."),
    MoveVerdict.ONLY_CLASSIC: ("fit only under the classic policy", "The profile finds no node for them."),
    MoveVerdict.ONLY_PROFILE: ("fit only under the profile", "The classic policy finds no node for them."),
    MoveVerdict.EITHER: ("may go to the same node", "Both could choose it among several equally good nodes."),
    MoveVerdict.SAME: ("go to the same node", "It is the only node that either could choose."),
    MoveVerdict.NEITHER: ("fit nowhere", "Neither finds a node for them."),
}


def revision_label(revision: Revision) -> str:
    """Return a label such as "old@3"."""
    return f"{revision.policy.name}@{revision.number}"


def question_title(question: Question) -> str:
    """Return the question in short."""
    return f"{question.classic_label} against {question.profile_label} on {question.about}"


def pods_of(question: Question) -> str:
    """Return the pods of the question in words."""
    subject = "All pods" if question.bound else "Pending pods, one after the other" if question.sequence else ""
    scope = f" in {', '.join(question.namespaces)}" if question.namespaces else ""
    return f"{subject or 'Pending pods'}{scope}"


def rule_words(rule: Json) -> str:
    """Return the effect of a rule, such as "rejects the other's node"."""
    if rule["kind"] == RuleKind.FAILS:
        return "an error ends the cycle"
    if rule["kind"] == RuleKind.PREFERS:
        return "prefers its own node most"
    return "rejects the other's node"


def rule_name(rule: Json) -> str:
    return str(rule["name"]) or ("an error" if rule["kind"] == RuleKind.FAILS else "no single rule")


def answer_sentence(counts: Json) -> str:
    """Return the answer: how many pods would move, by which rule most, and how many fit only under one side."""
    pods, verdicts = counts["pods"], counts["verdicts"]
    if not pods:
        return "There was no pod to compare"
    moving = verdicts[MoveVerdict.MOVES]
    opening = f"Of {_count_noun(pods, 'pod')} " if moving else f"None of {_count_noun(pods, 'pod')} "
    sentence = f"{opening}{f'{moving:,} ' if moving else ''}would move"
    top_rule = max(counts["rules"], key=lambda rule: rule["moves"], default=None)
    if moving and top_rule is not None:
        how_many = "; all" if top_rule["moves"] == moving else f"; {top_rule['moves']:,}"
        sentence += f"{how_many if moving > 1 else ','} by {rule_name(top_rule)}"
    for verdict in (MoveVerdict.ONLY_CLASSIC, MoveVerdict.ONLY_PROFILE):
        if number := verdicts[verdict]:
            verb = "fits" if number == 1 else "fit"
            sentence += f"; {number:,} {verb} only under the {SIDES[RuleSide(verdict.removeprefix('only '))]}"
    return sentence


def answer_notes(algorithm: Algorithm, configuration: Configuration, conversion: str) -> list[str]:
    """Return notes on what an answer leaves out, and on the ``conversion``."""
    notes = [f"The conversion: {conversion}"] if conversion else []
    for extenders, side in ((algorithm.extenders, RuleSide.CLASSIC), (configuration.extenders, RuleSide.PROFILE)):
        if extenders:
            notes.append(f"Extenders of the {SIDES[side]} are not asked: {len(extenders)}.")
    if algorithm.never_asked:
        notes.append(f"Predicates without a place in the order are never asked: {', '.join(algorithm.never_asked)}.")
    return [note[:500] for note in notes]


def _count_noun(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
