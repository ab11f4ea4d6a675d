"""Changes of a policy: their effect on its document, and those that are offered to be tried at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kschedweb.engine.documents.marked_documents import MarkedDocumentError, parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.releases.classic import Algorithm
from kschedweb.engine.releases.classic.catalogue import V1_9, V1_13
from kschedweb.engine.studies.search import fields
from kschedweb.engine.studies.search.space import is_same_value
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.dialects import DIALECTS, check_either
from kschedweb.policies.editing.arguments import parse_number
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.policies.files import with_files
from kschedweb.policies.old_versions import as_v1
from kschedweb.policies.selectors import load_revision
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision

# The plugin whose strategy is offered, and the field with it.
FIT, STRATEGY = "NodeResourcesFit", "args.scoringStrategy.type"
PACKING = "MostAllocated"
STRATEGIES = {
    "LeastAllocated": _("Spread pods over the nodes"),
    PACKING: _("Pack pods onto fewer nodes"),
}
SWITCHES = {"true": True, "false": False}


@dataclass(frozen=True)
class Content:
    """A document with the start options of its kube-scheduler."""

    document: str
    process: Json

    @classmethod
    def from_revision(cls, revision: Revision) -> Content:
        return cls(revision.document, dict(revision.process))


@dataclass(frozen=True)
class PolicyEdit:
    """An edit of a policy. Its parts are applied in the order of the fields."""

    # A document in place of the policy's; None to keep it.
    content: Content | None = None
    # New values of single fields, by their paths.
    values: Mapping[str, Any] = field(default_factory=dict)
    # Another release of kube-scheduler; "" to keep it.
    release: str = ""
    # Feature gates that are turned on or off.
    gates: Mapping[str, bool] = field(default_factory=dict)

    @classmethod
    def from_key(cls, key: str) -> PolicyEdit:
        """Return the edit that an offer's ``key`` names."""
        name, _, value = key.partition("=")
        if name == "release":
            return cls(release=value)
        return cls(values={name: SWITCHES.get(value, parse_number(value))})


@dataclass(frozen=True)
class ChangeOffer:
    """A change that one press of a button tries."""

    # The value that the button posts; see PolicyEdit.from_key.
    key: str
    label: str
    # The field that it sets, with old and new value.
    detail: str


@dataclass(frozen=True)
class WeightOffer:
    """The weight of a score plugin, or of a priority."""

    path: str
    # With the profile where there are several.
    label: str
    now: int
    plugin: str = ""


@dataclass(frozen=True)
class Offers:
    """Changes of a policy that can be tried at once."""

    strategies: list[ChangeOffer]
    weights: list[WeightOffer]
    releases: list[str]
    # The release that runs the policy now.
    release: str = ""
    # The scoring strategy of NodeResourcesFit by the path of its field, for each profile that scores by it.
    strategy_by_path: Mapping[str, str] = field(default_factory=dict)


def list_offers(revision: Revision, version: str = "", document: Configuration | None = None) -> Offers:
    """Return the offers for a saved policy on a cluster of ``version``, or for another ``document`` in its place."""
    configuration = load_revision(revision, version) if document is None else document
    classic = isinstance(configuration, Algorithm)
    releases = [V1_13, V1_9] if classic else list(RELEASES)
    return Offers(
        [] if classic else _strategy_offers(configuration),
        _weight_offers(configuration),
        [name for name in releases if name != configuration.release.name],
        configuration.release.name,
        {} if classic else _find_strategies(configuration),
    )


def apply_change(revision: Revision, change: PolicyEdit) -> Content:
    """Return the content that ``change`` makes of a saved policy.

    Raises ApplicationError at "values" or "release" for what the policy does not have.
    """
    content = change.content or Content.from_revision(revision)
    if change.values:
        content = replace(content, document=_write_values(revision, content, change.values))
    if change.release or change.gates:
        content = replace(content, process=_run_by(content, change))
    return replace(content, process=with_files(content.document, content.process))


def _write_values(revision: Revision, content: Content, values: Mapping[str, Any]) -> str:
    """Return the document with new values of single fields; raise ApplicationError for fields that it does not have."""
    dialect = revision.policy.dialect
    checked = dialect.check(content.document, content.process)
    if not checked.valid:
        raise Unprocessable("Single fields can be changed of a valid document only.")
    text = as_v1(checked.conversion) if checked.conversion else content.document
    try:
        now = dialect.load(text, content.process)
        steps = {path: fields.parse_path(path) for path in values}
        if unknown := next((path for path, step in steps.items() if not _has_field(now, step)), ""):
            raise ApplicationError.at("values", f"{unknown}: the policy has no such field.")
        edits = [(steps[path], value) for path, value in values.items()]
        # What is as wanted already is not written: a weight that is written moves its plugin in the order.
        new_values = [(step, value) for step, value in edits if not is_same_value(fields.get_value(now, step), value)]
        return (
            rewrite_yaml(text, fields.apply_changes(parse_document(text).data, now.document, new_values))
            if new_values
            else text
        )
    except (fields.PathError, MarkedDocumentError) as error:
        raise ApplicationError.at("values", f"{', '.join(values)}: {error}.") from None


def _has_field(configuration: Configuration, path: fields.Path) -> bool:
    """Return whether there is a field at ``path`` after defaulting; a weight may be that of any plugin."""
    return fields.profile_and_plugin(path) is not None or fields.get_value(configuration, path) is not fields.ABSENT


def _run_by(content: Content, change: PolicyEdit) -> Json:
    """Return the start options with another release or other feature gates; raise ApplicationError for unknown ones."""
    dialect = check_either(content.document, content.process).kind
    names = ("version", "gates") if dialect == PolicyKind.CLASSIC else ("release", "featureGates")
    gates: Any = change.gates
    if dialect == PolicyKind.CLASSIC:
        # A classic kube-scheduler has a list of gates that are on.
        gates = [name for name, on in change.gates.items() if on]
    process = {
        **content.process,
        **{name: value for name, value in zip(names, (change.release, gates), strict=True) if value},
    }
    try:
        DIALECTS[dialect].settle_release(process)
    except ValueError as error:
        raise ApplicationError.at("release", str(error)) from None
    return process


def _find_strategies(configuration: Configuration) -> dict[str, str]:
    """Return the scoring strategy of NodeResourcesFit by the path of its field, for each profile that scores by it."""
    strategies = {}
    for place, profile in enumerate(configuration.profiles):
        scoring = {plugin.name for plugin in profile.points["score"]}
        now = ((profile.args.get(FIT) or {}).get("scoringStrategy") or {}).get("type")
        # Without NodeResourcesFit among the scores, its strategy changes nothing.
        if FIT in scoring and now is not None:
            strategies[f"profiles[{place}].pluginConfig[{FIT}].{STRATEGY}"] = now
    return strategies


def _strategy_offers(configuration: Configuration) -> list[ChangeOffer]:
    """Return offers of the other scoring strategies of NodeResourcesFit, for each profile."""
    return [
        ChangeOffer(f"{path}={name}", label, f"{FIT}: {now} → {name}")
        for path, now in _find_strategies(configuration).items()
        for name, label in STRATEGIES.items()
        if name != now
    ]


def _weight_offers(configuration: Configuration) -> list[WeightOffer]:
    """Return the weights of all score plugins."""
    several = len(configuration.profiles) > 1
    return [
        WeightOffer(
            configuration.weight_path(place, plugin.name),
            f"{plugin.name} of {profile.scheduler_name}" if several else plugin.name,
            plugin.weight,
            plugin.name,
        )
        for place, profile in enumerate(configuration.profiles)
        for plugin in profile.points["score"]
    ]
