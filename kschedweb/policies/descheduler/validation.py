"""Validates a DeschedulerPolicy with the engine; every problem has its line, in the descheduler's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kschedweb.engine.config.types import encode
from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.cycle import check_policy
from kschedweb.engine.rebalancing.document import API_VERSION, GROUP, LIMITS
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE
from kschedweb.engine.rebalancing.loading import DeschedulerPolicy, PolicyRefused
from kschedweb.engine.rebalancing.plugins import PLUGINS
from kschedweb.policies.checked_document import CheckedDocument, mark_problem, problem_of_line
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.validation import excess_profiles

if TYPE_CHECKING:
    from kschedweb.engine.validation.fields import Problem

OTHER = "Write {wanted}: the descheduler 0.36.0 reads no other version. Older policies list strategies, not profiles."
NOTHING_RUNS = "No profile enables a plugin at deschedule or balance, so no pod is ever evicted."


@dataclass(frozen=True)
class DeschedulerChecked(CheckedDocument[DeschedulerPolicy]):
    """A DeschedulerPolicy with the engine's findings. ``loaded`` has the defaults filled in."""

    kind: ClassVar[PolicyKind] = PolicyKind.DESCHEDULER

    @property
    def runs(self) -> Json:
        """The limits, and for each profile its plugins with their arguments after defaults, for comparisons."""
        if self.loaded is None:
            return {}
        limits = {name: self.loaded.fields[name] for name in ("nodeSelector", *LIMITS)}
        profiles = {
            profile.name: {
                **{point: " ".join(profile.enabled_plugins(point)) for point in (DESCHEDULE, BALANCE)},
                **{name: encode(PLUGINS[name].args, args) for name, args in profile.args.items()},
            }
            for profile in self.loaded.profiles or ()
        }
        return {**{name: value for name, value in limits.items() if value is not None}, "profiles": profiles}


def check_descheduler(text: str) -> DeschedulerChecked:
    """Check ``text`` as the descheduler reads it. Bad input never raises; it becomes errors."""
    try:
        document = parse_document(text)
    except MarkedDocumentError as error:
        return DeschedulerChecked(text, None, errors=[error.problem])
    # The engine would refuse another version in words that do not help: say which version is read instead.
    if problem := _other_version(document) or excess_profiles(document):
        return DeschedulerChecked(text, document, errors=[problem])
    try:
        loaded = check_policy(text)
    except PolicyRefused as refused:
        return DeschedulerChecked(
            text, document, errors=[_mark_problem(problem, document) for problem in refused.problems]
        )
    return DeschedulerChecked(text, document, loaded, warnings=list(_list_warnings(loaded, document)))


def _other_version(document: MarkedDocument) -> MarkedProblem | None:
    """Return the problem of a policy of another version of the descheduler; ``None`` if the version is read."""
    data = document.data
    version = data.get("apiVersion") if isinstance(data, dict) else None
    if not isinstance(version, str) or version == API_VERSION or not version.startswith(f"{GROUP}/"):
        return None
    return mark_problem("apiVersion", f"{version} is not read. {OTHER.format(wanted=API_VERSION)}", document)


def _list_warnings(loaded: DeschedulerPolicy, document: MarkedDocument) -> list[MarkedProblem]:
    enabled = [
        name
        for profile in loaded.profiles or ()
        for point in (DESCHEDULE, BALANCE)
        for name in profile.enabled_plugins(point)
    ]
    return [] if enabled else [mark_problem("profiles", NOTHING_RUNS, document)]


def _mark_problem(problem: Problem, document: MarkedDocument) -> MarkedProblem:
    return problem_of_line(problem.path, problem.text) or mark_problem(problem.path or "kind", problem.text, document)
