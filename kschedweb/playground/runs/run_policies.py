"""The policy of a run: one for scheduling, and perhaps NodePools, a DeschedulerPolicy and settings of quota queues
instead of the scenario's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.http import Http404

from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.documents.leaves import Duration
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.studies.actors.descheduler.keys import MIN_INTERVAL
from kschedweb.engine.studies.actors.queues.setting_paths import (
    SettingError,
    build_settings,
    format_settings,
    parse_settings,
    read_settings,
)
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import DEFAULT_INTERVAL, DeschedulerSettings
from kschedweb.playground.scenarios.selectors import at_hand, list_queue_settings
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.selectors import policy_get, process_of_run, revision_get
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import ApplicationError, NotFound, Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.documents.leaves import DocumentProblem
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.policies.models import Revision

# No labels of stored runs.
NOTHING: Mapping[str, RunPolicy] = {}
# Part of a label after a "+"; no policy can have this name, since it has a space.
NO_DESCHEDULER = "no descheduler"
# Separates a descheduler from the interval of its rounds in a label.
INTERVAL = " every "
# Characters of the column ``Run.label``.
LONGEST_LABEL = 160
POLICY_HELP = (
    "As `name` or `name@revision`. With `+` a policy of kind Karpenter takes the place of the scenario's autoscaler, "
    "and one that holds a DeschedulerPolicy that of its descheduler: `default+trim@2`, or `default+trim@2 every 10m`, "
    "5m unless told. `+no descheduler` leaves the scenario's out. `+team-b/on-demand/cpu/nominal=60` changes a setting "
    "of the scenario's quota queues; several stand with commas between. What a run or a comparison that `like` names "
    "was under is named by its label."
)


@dataclass(frozen=True)
class RunPolicy:
    """A policy to run."""

    label: str
    # Document of the policy for scheduling.
    document: str
    # Start options of its kube-scheduler.
    process: Mapping[str, Any]
    # None if the policy is not saved.
    revision: Revision | None
    # Document of kind Karpenter in place of the scenario's autoscaler; "" to keep the scenario's.
    autoscaler: str = ""
    # ``document``, ``every`` (seconds) and ``name`` in place of the scenario's descheduler. Empty for no descheduler;
    # None to keep the scenario's.
    descheduler: Json | None = None
    # Settings of quota queues by their paths instead of the scenario's. None to keep the scenario's.
    queues: Json | None = None


def entry_named(
    reference: str, path: str, policies_by_label: Mapping[str, RunPolicy] = NOTHING, *, version: str = ""
) -> RunPolicy:
    """Return the saved policy ``name`` or ``name@revision``, perhaps with others after a "+", as POLICY_HELP tells.

    A policy that is stored with runs is named by its label in ``policies_by_label``. ``version`` is that of the
    scenario's cluster. Raises ApplicationError if the engine does not accept it.
    """
    # The longest label that the reference begins with, since a label may contain a "+" itself.
    base_label = max(
        (label for label in policies_by_label if f"{reference}+".startswith(f"{label}+")), key=len, default=""
    )
    scheduling, *additions = reference.removeprefix(base_label).split("+")
    entry = policies_by_label[base_label] if base_label else _scheduling_entry(scheduling, path, version)
    for other in additions:
        entry = _extend_entry(entry, other.strip(), path)
    if len(entry.label) > LONGEST_LABEL:
        raise ApplicationError.at(path, f"The names of these policies have more than {LONGEST_LABEL} characters.")
    return entry


def kept_of(runs: Iterable[Run]) -> dict[str, RunPolicy]:
    """Return the policies of the runs, saved or not, by their labels."""
    return {
        run.label: RunPolicy(
            run.label, run.configuration, run.process, run.policy, run.autoscaler, run.descheduler, run.queues
        )
        for run in runs
    }


def descheduler_of(stored: Mapping[str, Any]) -> DeschedulerSettings | None:
    """Return the stored descheduler of a run as the engine takes it; ``None`` for no descheduler."""
    return (
        DeschedulerSettings(parse_document(stored["document"]).data, stored["every"], stored["name"])
        if stored
        else None
    )


def check_accepted(document: str, process: Mapping[str, Any], label: str, path: str) -> str:
    """Return ``document``; raise ApplicationError if the engine does not accept it."""
    loaded = load(document, release_of_record(process))
    if loaded.configuration is None:
        raise ApplicationError.at(path, f"{label}: {'; '.join(loaded.errors[:3])}")
    return document


def _scheduling_entry(reference: str, path: str, version: str) -> RunPolicy:
    try:
        revision = revision_named(reference, path)
    except (Http404, NotFound):
        raise ApplicationError.at(path, f"There is no policy {reference[:120]}.") from None
    label, process = f"{revision.policy.name}@{revision.number}", process_of_run(revision, version)
    return RunPolicy(label, check_accepted(revision.document, process, label, path), process, revision)


def _extend_entry(entry: RunPolicy, other: str, path: str) -> RunPolicy:
    """Return ``entry`` with NodePools, with settings of quota queues, or with or without a descheduler."""
    if "=" in other:
        return _with_queues(entry, other, path)
    if other == NO_DESCHEDULER:
        return replace(entry, label=f"{entry.label}+{NO_DESCHEDULER}", descheduler={})
    reference, separator, interval = other.partition(INTERVAL)
    revision = _find_revision(reference.strip(), path)
    label = f"{entry.label}+{revision.policy.name}@{revision.number}"
    if revision.policy.kind == PolicyKind.KARPENTER and not separator:
        karpenters.karpenter_of(revision)
        return replace(entry, label=label, autoscaler=revision.document)
    if revision.policy.kind != PolicyKind.DESCHEDULER:
        advice = "choose a policy with NodePools of Karpenter, or one that holds a DeschedulerPolicy"
        word = revision.policy.dialect.document_word
        raise Unprocessable.at(path, f"{revision.policy.name} holds {word}: {advice}.")
    seconds = _parse_interval(interval.strip(), path) if separator else DEFAULT_INTERVAL
    name = f"{revision.policy.name}@{revision.number}"
    descheduler = {"document": revision.document, "every": seconds, "name": name}
    return replace(entry, label=label + (INTERVAL + interval.strip() if separator else ""), descheduler=descheduler)


def _with_queues(entry: RunPolicy, text: str, path: str) -> RunPolicy:
    try:
        values = parse_settings(text)
        read_settings(build_settings(values))
    except SettingError as error:
        raise ApplicationError.at(path, f"{error}.") from None
    except ScenarioError as error:
        raise ApplicationError.at(path, f"{text[:120]}: {error.problems[0].text}.") from None
    return replace(entry, label=f"{entry.label}+{format_settings(values)}", queues={**(entry.queues or {}), **values})


def check_queues(entries: Iterable[RunPolicy], revision: ScenarioRevision, path: str) -> None:
    """Raise ApplicationError if the scenario does not have the quota queues that one of ``entries`` changes.

    For a large cluster only its job can tell.
    """
    changed = list(dict.fromkeys(setting for entry in entries for setting in entry.queues or ()))
    if not changed or not at_hand(revision, seed=1):
        return
    settings = list_queue_settings(revision)
    if not settings:
        raise ApplicationError.at(path, "The scenario has no quota queues: add the key queues to it.")
    missing = [setting for setting in changed if setting not in settings]
    if missing:
        queues = ", ".join(dict.fromkeys(setting.partition("/")[0] for setting in settings if "/" in setting))
        raise ApplicationError.at(path, f"The scenario has no {missing[0][:200]}; it has the queues {queues}.")


def _find_revision(reference: str, path: str) -> Revision:
    name, _, number = reference.partition("@")
    try:
        # PostgreSQL refuses text with a null character, and integers beyond its range.
        if "\0" in name or (number and not (number.isascii() and number.isdecimal() and len(number) < 10)):
            raise Http404
        return revision_get(policy_get(name), int(number) if number else None)
    except Http404:
        raise ApplicationError.at(path, f"There is no policy {reference[:120]}.") from None


def _parse_interval(interval: str, path: str) -> float:
    problems: list[DocumentProblem] = []
    seconds = Duration(MIN_INTERVAL).read(interval, "every", problems)
    if problems:
        raise ApplicationError.at(path, f"The interval {interval[:40]!r} {problems[0].text}.")
    return float(seconds)
