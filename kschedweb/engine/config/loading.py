"""Loading of a KubeSchedulerConfiguration: read, decode, default, validate, build."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.config import profiles, validation
from kschedweb.engine.config.advice import list_warnings
from kschedweb.engine.config.defaults import set_defaults
from kschedweb.engine.config.document import RefusedError, decode_document, refusal
from kschedweb.engine.config.files import take_files
from kschedweb.engine.config.model import Configuration, Profile
from kschedweb.engine.config.notes import Conversion
from kschedweb.engine.config.reading import read_document
from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import API_VERSION, EXTENDER, KIND, PLACEMENT_PERCENTAGE
from kschedweb.engine.config.source import DocumentSource, UnreadableError
from kschedweb.engine.config.types import encode
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import SECOND, quote
from kschedweb.engine.values import dataclass

EMPTY = {"apiVersion": API_VERSION, "kind": KIND}
DEFAULT_DOCUMENT = f"""\
apiVersion: {API_VERSION}
kind: {KIND}
profiles:
  - schedulerName: default-scheduler
"""
# The two wordings of the same error: new and old releases.
LABEL_KEY, QUALIFIED_NAME = "a valid label key must", "a qualified name must"
# kube-scheduler's `DefaultExtenderTimeout`, in nanoseconds.
_EXTENDER_TIMEOUT = 5 * SECOND


@dataclass(frozen=True)
class Loaded:
    """The result of loading a document."""

    # kube-scheduler's own words.
    errors: list[str] = field(default_factory=list)
    # The same errors one by one, each with the path of its field ("" for the document).
    problems: list[Problem] = field(default_factory=list)
    # Settings that kube-scheduler accepts but ignores, and the remark if the nearest release answers.
    warnings: list[str] = field(default_factory=list)
    # The document after defaults, if it is valid.
    defaulted: Json | None = None
    # The form for the engine, if it is valid.
    configuration: Configuration | None = None
    # Line (from 1) of each path.
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
    # Set if the document was of a version before v1.
    conversion: Conversion | None = None

    @property
    def valid(self) -> bool:
        return self.configuration is not None

    def line(self, path: str) -> int | None:
        """Return the line (from 1) of ``path`` or of the nearest field around it; ``None`` if it is unknown."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path)


def load(document: str | bytes | Mapping[str, Any] | None, release: Release) -> Loaded:
    """Load YAML or JSON text or a mapping as ``release`` does; ``None`` stands for kube-scheduler's defaults.

    It never raises for the document's contents: all errors are in ``errors``.
    """
    lines: Mapping[str, int] = {}
    try:
        source = read_document(DEFAULT_DOCUMENT if document is None else document)
        lines = _find_lines(source)
        return _load_source(source, release, lines)
    except UnreadableError as error:
        problem = Problem("", str(error))
        return Loaded([problem.text], [problem], lines={"": error.line} if error.line else {})
    except RefusedError as refused:
        problems = [replace(problem, text=_translate_error(release, problem.text)) for problem in refused.problems]
        return Loaded([_translate_error(release, text) for text in refused.errors], problems, lines=lines)


def _translate_error(release: Release, text: str) -> str:
    return text.replace(LABEL_KEY, QUALIFIED_NAME) if release.behaviour.qualified_name_error_text else text


def _load_source(source: DocumentSource, release: Release, lines: Mapping[str, int]) -> Loaded:
    configuration = decode_document(source, release)
    # Kept as written: defaults and files change the configuration in place, and warnings are about written settings.
    decoded = copy.deepcopy(configuration)
    take_files(configuration, release)
    set_defaults(configuration, release)
    if problems := validation.validate_configuration(configuration, release):
        raise RefusedError([problem.text for problem in problems], problems)
    defaulted = _encode_configuration(configuration, release)
    ready = replace(
        _build_configuration(configuration, defaulted, release),
        leader_election=_explicit_leader_election(decoded, defaulted),
    )
    warning_texts = [*filter(None, [release.remark]), *list_warnings(decoded, ready, release)]
    return Loaded(warnings=warning_texts, defaulted=defaulted, configuration=ready, lines=lines)


def document_lines(document: str | bytes | Mapping[str, Any]) -> Mapping[str, int]:
    """Return the line of each path of a document; empty if it cannot be read."""
    try:
        return _find_lines(read_document(document))
    except UnreadableError:
        return {}


def _find_lines(source: DocumentSource) -> Mapping[str, int]:
    """Return the line of each path. JSON text is read a second time for this, as the YAML that it also is."""
    if source.lines is not None or "\n" not in source.text:
        return source.lines or {}
    from kschedweb.engine.config import yaml_text

    try:
        return yaml_text.read_yaml(source.text).lines or {}
    except UnreadableError:
        return {}


def _encode_configuration(configuration: Json, release: Release) -> Json:
    """Return the JSON form of a defaulted configuration, arguments included, without apiVersion and kind."""
    encoded: Json = encode(release.schema.configuration, {**configuration, "kind": "", "apiVersion": ""})
    for profile in encoded["profiles"]:
        for config in profile.get("pluginConfig", ()):
            config["args"] = _encoded_args(config["name"], config["args"], release)
    return encoded


def _encoded_args(name: str, args: Any, release: Release) -> Any:
    spec = release.registry.find_args(name)
    return encode(spec.struct, args) if spec else copy.deepcopy(args)


def _explicit_leader_election(decoded: Json, defaulted: Json) -> Json:
    election = decoded["leaderElection"]
    return {
        name: value for name, value in defaulted["leaderElection"].items() if election[name] or election[name] is False
    }


def _build_configuration(configuration: Json, defaulted: Json, release: Release) -> Configuration:
    extenders = configuration["extenders"] or []
    for index, extender in enumerate(extenders):
        if problem := profiles.transport_problem(extender):
            path = f"extenders[{index}].tlsConfig.{problem.path}"
            raise refusal(path, f"couldn't build extenders: {problem.text}")
    try:
        profiles.ignore_managed_resources(extenders, configuration["profiles"])
    except profiles.BuildError as error:
        raise refusal("extenders", f"couldn't build extenders: {error}") from error
    built = _build_profiles(configuration["profiles"], release)
    return Configuration(
        profiles=built,
        percentage_of_nodes_to_score=configuration["percentageOfNodesToScore"],
        percentage_of_placements_to_score=configuration.get(PLACEMENT_PERCENTAGE),
        parallelism=configuration["parallelism"],
        extenders=tuple(_encode_extender(extender) for extender in extenders),
        document={"apiVersion": API_VERSION, "kind": KIND, **defaulted},
        release=release,
    )


def _encode_extender(extender: Json) -> Json:
    encoded: Json = encode(EXTENDER, {**extender, "httpTimeout": extender["httpTimeout"] or _EXTENDER_TIMEOUT})
    return encoded


def _build_profiles(decoded: list[Json], release: Release) -> tuple[Profile, ...]:
    """Build the profiles in order. They share one queue, so all must sort it alike."""
    built: list[Profile] = []
    for index, decoded_profile in enumerate(decoded):
        profile = _build_profile(index, decoded_profile, release)
        built.append(profile)
        (sort,), (first,) = profile.points["queueSort"], built[0].points["queueSort"]
        name = quote(profile.scheduler_name)
        if sort.name != first.name:
            detail = f"different queue sort plugins for profile {name}: {quote(sort.name)}, first: {quote(first.name)}"
            raise refusal(f"profiles[{index}].plugins.queueSort", f"initializing profiles: {detail}")
        if profile.args.get(sort.name) != built[0].args.get(sort.name):
            detail = f"different queue sort plugin args for profile {name}"
            raise refusal(f"profiles[{index}].pluginConfig", f"initializing profiles: {detail}")
    return tuple(built)


def _build_profile(index: int, profile: Json, release: Release) -> Profile:
    name = profile["schedulerName"]
    try:
        points = profiles.build_points(profile, release)
    except profiles.BuildError as error:
        message = f"initializing profiles: creating profile for scheduler name {name}: {error}"
        raise refusal(f"profiles[{index}].{error.path}", message) from error
    configs = profile["pluginConfig"]
    args = {config["name"]: _encoded_args(config["name"], config["args"], release) for config in configs}
    return Profile(name, profile["percentageOfNodesToScore"], points, args, profile.get(PLACEMENT_PERCENTAGE))
