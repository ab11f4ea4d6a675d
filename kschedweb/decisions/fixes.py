"""Fixes that would let a pending pod run, for pages and REST: the engine's fixes in the language of the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions import services
from kschedweb.decisions.case import Case
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.quota_queues import find_queues
from kschedweb.decisions.snapshots import get_cache
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.fixes.changes import (
    CONJUNCTION,
    OUTCOME,
    SENTENCES,
    ChangeKind,
    join_sentences,
)
from kschedweb.engine.studies.fixes.devices import find_device_chains
from kschedweb.engine.studies.fixes.search import find_fixes
from kschedweb.web.translating import fix_spacing, in_english

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.policies.models import Revision

# Of an answer that needs no fixes: the pod fits, is bound, or a classic policy decides.
NO_FIXES: Json = {"fixes": [], "device_chains": []}


@dataclass(frozen=True)
class ShownChange:
    """A change of a fix as a page shows it."""

    sentence: str
    # Kind and name of the object, and the field.
    target: str
    path: str
    command: str


@dataclass(frozen=True)
class ShownFix:
    """A fix as a page shows it."""

    sentence: str
    changes: tuple[ShownChange, ...]


@dataclass(frozen=True)
class ShownChain:
    """A chain of devices as a page shows it: (name, state, sentence) of each link."""

    resource: str
    family: str
    links: tuple[tuple[str, str, str], ...]


def find_pod_fixes(snapshot: Snapshot, revision: Revision, case: AnyCase) -> Json:
    """Return ``fixes`` and ``device_chains`` of a pending pod as REST shows them; both empty where none are needed."""
    explanation = case.explanation
    needs_none = explanation.chosen is not None and explanation.pre_enqueue.ok
    if not isinstance(case, Case) or case.bound_to or case.from_run or needs_none:
        return NO_FIXES

    def compute() -> Json:
        fixes = find_fixes(case.scheduler, case.pod, explanation, read_queues=lambda: find_queues(snapshot))
        chains = find_device_chains(case.snapshot, case.pod)
        return {
            "fixes": [fix.to_dict() for fix in fixes],
            "device_chains": [chain.to_dict() for chain in chains],
        }

    key = (*get_decider(revision).state_version(snapshot), revision.pk, case.pod.key, "fixes")
    with services.lock_snapshot(snapshot):
        fixes: Json = get_cache(snapshot).answers.get(key, compute)
    return fixes


def present_fixes(answer: Json) -> dict[str, object]:
    """Return the context of ``decisions/fixes.html`` from the ``fixes`` and ``device_chains`` of REST's answer."""
    return {
        "fixes": [_present_fix(fix) for fix in answer.get("fixes") or ()],
        "device_chains": [
            ShownChain(
                chain["resource"],
                chain["family"],
                tuple(
                    (gettext(link["name"]), link["state"], fix_spacing(gettext(link["text"]) % link["arguments"]))
                    for link in chain["links"]
                ),
            )
            for chain in answer.get("device_chains") or ()
        ],
    }


def _present_fix(fix: Json) -> ShownFix:
    changes = tuple(
        ShownChange(
            fix_spacing(gettext(SENTENCES[ChangeKind(change["kind"])]) % change["arguments"]),
            _describe_target(change["object"]),
            change["path"],
            change["command"],
        )
        for change in fix["changes"]
    )
    sentence = fix["sentence"]
    if not in_english():
        joined = join_sentences(list(dict.fromkeys(change.sentence for change in changes)), gettext(CONJUNCTION))
        sentence = fix_spacing(gettext(OUTCOME) % {"changes": joined, "node": fix["node"]})
    return ShownFix(sentence, changes)


def _describe_target(key: Json) -> str:
    return " ".join(filter(None, (key["kind"], "/".join(filter(None, (key["namespace"], key["name"]))))))
