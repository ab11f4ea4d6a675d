"""Changes of a policy: what they make of its document, and those that are offered to be tried at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kschedweb.engine.documents.marked import DocumentError, parse
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.releases.classic import Algorithm
from kschedweb.engine.releases.classic.catalogue import V1_9, V1_13
from kschedweb.engine.studies.search import fields
from kschedweb.engine.studies.search.space import same
from kschedweb.policies.dialect import Kind
from kschedweb.policies.editing.arguments import number
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.files import with_files
from kschedweb.policies.kinds import DIALECTS, check_either
from kschedweb.policies.older import as_v1
from kschedweb.policies.selectors import runs
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision

FIT, STRATEGY = "NodeResourcesFit", "args.scoringStrategy.type"
STRATEGIES = {
    "LeastAllocated": _("Spread pods over the nodes"),
    "MostAllocated": _("Pack pods onto fewer nodes"),
}
SWITCHES = {"true": True, "false": False}


@dataclass(frozen=True)
class Content:
    """A document, and how its kube-scheduler is started."""

    document: str
    process: dict[str, Any]

    @classmethod
    def of(cls, revision: Revision) -> Content:
        return cls(revision.document, dict(revision.process))


@dataclass(frozen=True)
class Change:
    """What is changed of a policy, in this order: all of it, single fields by their paths, what runs it.

    ``gates`` are feature gates that are turned on or off.
    """

    content: Content | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    release: str = ""
    gates: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def named(cls, key: str) -> Change:
        """The change that an offer's ``key`` names."""
        name, _, value = key.partition("=")
        if name == "release":
            return cls(release=value)
        return cls(values={name: SWITCHES.get(value, number(value))})


@dataclass(frozen=True)
class Offer:
    """A change that one press of a button tries; ``key`` names it, ``detail`` is what it sets."""

    key: str
    label: str
    detail: str


@dataclass(frozen=True)
class WeightOffer:
    """The weight of a plugin that scores, or of a priority, with the keys of changes of it."""

    path: str
    label: str
    now: int

    @property
    def doubled(self) -> str:
        return f"{self.path}={2 * self.now}"

    @property
    def without(self) -> str:
        return f"{self.path}=0"


@dataclass(frozen=True)
class Offers:
    """What can be tried of a policy at once."""

    strategies: list[Offer]
    weights: list[WeightOffer]
    releases: list[str]


def offers(revision: Revision, version: str = "") -> Offers:
    """The offers for a saved policy on a cluster of ``version``."""
    configuration = runs(revision, version)
    classic = isinstance(configuration, Algorithm)
    known = [V1_13, V1_9] if classic else list(RELEASES)
    return Offers(
        [] if classic else _strategies(configuration),
        _weights(configuration),
        [name for name in known if name != configuration.release.name],
    )


def changed(revision: Revision, change: Change) -> Content:
    """What ``change`` makes of a saved policy.

    Raises ApplicationError at "values" or "release" for what the policy does not have.
    """
    content = change.content or Content.of(revision)
    if change.values:
        content = replace(content, document=_written(revision, content, change.values))
    if change.release or change.gates:
        content = replace(content, process=_run_by(content, change))
    return replace(content, process=with_files(content.document, content.process))


def _written(revision: Revision, content: Content, values: Mapping[str, Any]) -> str:
    dialect = revision.policy.dialect
    checked = dialect.check(content.document, content.process)
    if not checked.valid:
        raise Unprocessable("Single fields can be changed of a valid document only.")
    text = as_v1(checked.conversion) if checked.conversion else content.document
    try:
        now = dialect.load(text, content.process)
        steps = {path: fields.steps(path) for path in values}
        if unknown := next((path for path, step in steps.items() if not _has(now, step)), ""):
            raise ApplicationError.at("values", f"{unknown}: the policy has no such field.")
        wanted = [(steps[path], value) for path, value in values.items()]
        # What is as wanted already is not written: a weight that is written moves its plugin in the order.
        written = [(step, value) for step, value in wanted if not same(fields.value(now, step), value)]
        return rewrite(text, fields.changed(parse(text).data, now.document, written)) if written else text
    except (fields.PathError, DocumentError) as error:
        raise ApplicationError.at("values", f"{', '.join(values)}: {error}.") from None


def _has(configuration: Configuration, path: fields.Path) -> bool:
    """Whether there is a field at ``path`` after defaulting; a weight may be that of any plugin."""
    return fields.weighed(path) is not None or fields.value(configuration, path) is not fields.ABSENT


def _run_by(content: Content, change: Change) -> dict[str, Any]:
    dialect = check_either(content.document, content.process).kind
    names = ("version", "gates") if dialect == Kind.CLASSIC else ("release", "featureGates")
    gates: Any = change.gates
    if dialect == Kind.CLASSIC:
        gates = [name for name, on in change.gates.items() if on]
    made = {
        **content.process,
        **{name: value for name, value in zip(names, (change.release, gates), strict=True) if value},
    }
    try:
        DIALECTS[dialect].settled(made)
    except ValueError as error:
        raise ApplicationError.at("release", str(error)) from None
    return made


def _strategies(configuration: Configuration) -> list[Offer]:
    found = []
    for place, profile in enumerate(configuration.profiles):
        scoring = {one.name for one in profile.points["score"]}
        now = ((profile.args.get(FIT) or {}).get("scoringStrategy") or {}).get("type")
        if FIT not in scoring or now is None:
            continue
        of = f" in {profile.scheduler_name}" if len(configuration.profiles) > 1 else ""
        path = f"profiles[{place}].pluginConfig[{FIT}].{STRATEGY}"
        found += [
            Offer(f"{path}={name}", f"{label}{of}", f"{FIT}: {now} → {name}")
            for name, label in STRATEGIES.items()
            if name != now
        ]
    return found


def _weights(configuration: Configuration) -> list[WeightOffer]:
    several = len(configuration.profiles) > 1
    return [
        WeightOffer(
            configuration.weight_path(place, one.name),
            f"{one.name} of {profile.scheduler_name}" if several else one.name,
            one.weight,
        )
        for place, profile in enumerate(configuration.profiles)
        for one in profile.points["score"]
    ]
