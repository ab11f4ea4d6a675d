"""Check a document with the engine, and give every error its line.

The engine reports kube-scheduler's message and the path of the field. This module finds the position in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    Path,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.releases import ReleaseError, get_release, load
from kschedweb.engine.releases.classic import classic_release, edition_of
from kschedweb.engine.releases.older import make_readable
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.extenders import list_refusals

if TYPE_CHECKING:
    from kschedweb.engine.config import Loaded, Release
    from kschedweb.engine.config.notes import Conversion
    from kschedweb.web.errors import FieldProblem

# The types of Kubernetes' field errors; the engine repeats their wording.
_TYPES = "Invalid value|Required value|Forbidden|Duplicate value|Unsupported value"
_PATH = r"[A-Za-z][\w.\[\]]*"
_SEVERAL = re.compile(rf'^(?P<head>.*initializing plugin "[^"]*": )\[(?P<list>{_PATH}: .*)\]$', re.S)
_NEXT = re.compile(rf", (?=(?:{_PATH}): (?:{_TYPES}))")
_LEADING_PATH = re.compile(rf"^({_PATH}): ")
LINE = re.compile(r"\bline (\d+)")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_QUOTED_STEP = re.compile(r"\['([^']*)'\]|([^.\[\]]+)|\[(\d+)\]")

PROCESS = ("release", "featureGates", "files")
# Only in the process of a classic kube-scheduler.
VERSION = "version"
UNNAMED = "1.36"
"""The release of runs, searches and verdicts that were stored before they named one."""
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
MOST_PROFILES = 200
"""What is shown of a document has each profile with all its defaults, some 7 kB."""
KEY, TOKEN = "keyData", "token"
SECRET = (f".tlsConfig.{KEY}", f".metricProvider.{TOKEN}")


@dataclass(frozen=True)
class CheckedProfiles:
    """A text with the engine's findings."""

    kind: ClassVar[PolicyKind] = PolicyKind.PROFILES

    text: str
    # The parsed text; None if it is not YAML.
    document: MarkedDocument | None
    # The engine's findings; None if it was not asked, since the text is unreadable or too long.
    loaded: Loaded | None
    errors: list[MarkedProblem]
    warnings: list[MarkedProblem]

    @property
    def valid(self) -> bool:
        return self.loaded is not None and self.loaded.valid

    @property
    def conversion(self) -> Conversion | None:
        """The conversion of a document of a version before v1; ``None`` for others, and if it cannot be converted."""
        return self.loaded.conversion if self.loaded and self.loaded.valid else None

    @property
    def secrets(self) -> list[MarkedProblem]:
        """Problems of private keys and tokens, which must not be stored."""
        return [problem for problem in self.warnings if problem.path.endswith(SECRET)]

    @property
    def notes(self) -> list[FieldProblem]:
        """Refusals of live schedulers to run the document, although it may be saved."""
        configuration = self.loaded.configuration if self.loaded else None
        return list_refusals(configuration.extenders) if configuration else []


def release_of(process: Mapping[str, Any]) -> Release:
    """Return the release of profiles that ``process`` names, with its feature gates. Raises ReleaseError."""
    if unknown := sorted(process.keys() - set(PROCESS)):
        raise ReleaseError(f"{unknown[0]}: is not known; there are {', '.join(PROCESS)}")
    return get_release(process.get("release") or "", process.get("featureGates") or {}, process.get("files") or {})


def _classic_release_of(process: Mapping[str, Any]) -> Release:
    try:
        return classic_release(edition_of(dict(process)))
    except ObjectError as error:
        message = str(error)
        raise ReleaseError(message.replace(VERSION, "release", 1) if message.startswith(VERSION) else message) from None


def requested_release(process: Mapping[str, Any], release: str, gates: Mapping[str, bool] = NO_OPTIONS) -> Release:
    """Return the release that is asked for, else that of ``process``; likewise its ``gates``. Raises ReleaseError.

    The files are always those of ``process``, because they are the policy's.
    """
    if VERSION in process:
        classic_options: Json = {VERSION: release} if release else {}
        classic_options |= {"gates": [name for name, on in gates.items() if on]} if gates else {}
        return _classic_release_of({**process, **classic_options})
    options = {name: value for name, value in (("release", release), ("featureGates", gates)) if value}
    # Another release has other gates, so those of the policy do not count with it.
    return release_of({"files": process.get("files"), **options} if release else {**process, **options})


def release_of_record(process: Mapping[str, Any]) -> Release:
    """Return the release, of either kind of policy, that made a stored run, search or verdict."""
    return _classic_release_of(process) if VERSION in process else release_of({"release": UNNAMED, **process})


def settle_release(process: Mapping[str, Any]) -> Json:
    """Return ``process`` with the name of the release that it means today, as records keep it. Raises ReleaseError."""
    return {**process, "release": release_of(process).name}


def process_of(release: Release) -> Json:
    """Return the process that names ``release``: the reverse of ``release_of``."""
    if release.process:
        return dict(release.process)
    process = {"release": release.name, "featureGates": dict(release.switched), "files": dict(release.files)}
    return {name: value for name, value in process.items() if value}


def check_profiles(text: str, process: Mapping[str, Any] = NO_OPTIONS) -> CheckedProfiles:
    """Check ``text`` as the kube-scheduler that ``process`` names reads it. Bad input never raises; it becomes
    errors.
    """
    try:
        document = parse_document(make_readable(text))
    except MarkedDocumentError as error:
        return CheckedProfiles(text, None, None, [error.problem], [])
    if too_long := excess_profiles(document):
        return CheckedProfiles(text, document, None, [too_long], [])
    try:
        loaded = load(text, release_of(process))
    except ReleaseError as error:
        message = f"process.{error}"
        return CheckedProfiles(text, document, None, [MarkedProblem(message, message.partition(":")[0])], [])
    errors = [placed for problem in loaded.problems for placed in _mark_problems(problem.path, problem.text, document)]
    warnings = [_mark_problem(message, _leading_path(message), document) for message in loaded.warnings]
    meant = loaded.conversion.document if loaded.conversion else document.data
    return CheckedProfiles(text, document, loaded, errors, [*warnings, *_secret_problems(document, meant)])


def excess_profiles(document: MarkedDocument) -> MarkedProblem | None:
    """Return the problem of a document, of either kind that has profiles, with more of them than a site can show."""
    profiles = document.data.get("profiles") if isinstance(document.data, dict) else None
    if not isinstance(profiles, list) or len(profiles) <= MOST_PROFILES:
        return None
    message = f"profiles: has {len(profiles):,} entries; at most {MOST_PROFILES} are taken"
    return _mark_problem(message, "profiles", document)


def split_path(path: str) -> Path:
    """Split ``profiles[0].plugins.Enabled`` into ``("profiles", 0, "plugins", "enabled")``."""
    return tuple(int(index) if index else name[:1].lower() + name[1:] for name, index in _STEP.findall(path))


def split_quoted_path(path: str) -> Path:
    """Split as :func:`split_path`, for documents whose fields may begin with a capital letter or stand in quotes."""
    return tuple(int(index) if index else name or quoted for quoted, name, index in _QUOTED_STEP.findall(path))


def join_path(path: Path) -> str:
    """Join a path: the reverse of :func:`split_path`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _mark_problems(path: str, text: str, document: MarkedDocument) -> Iterator[MarkedProblem]:
    """Split the engine's problem into problems of fields. The engine reports all arguments of a plugin together."""
    several = _SEVERAL.match(text)
    if several and ".args." in path:
        base = path.partition(".args.")[0] + ".args."
        for item in _NEXT.split(several["list"]):
            match = _LEADING_PATH.match(item)
            yield _mark_problem(several["head"] + item, base + (match[1] if match else ""), document)
    elif not path and LINE.search(text):
        # Errors of YAML itself, such as a repeated key, name their lines. There may be several.
        for complaint in [line for line in text.splitlines() if LINE.search(line)]:
            match = LINE.search(complaint)
            assert match is not None
            yield MarkedProblem(complaint.strip(), line=max(int(match[1]), 1))
    else:
        yield _mark_problem(text, path, document)


def _mark_problem(message: str, path: str, document: MarkedDocument) -> MarkedProblem:
    keys = split_path(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, join_path(keys), line, column, end, keys)


def _leading_path(message: str) -> str:
    match = _LEADING_PATH.match(message)
    return match[1] if match else ""


def _secret_problems(document: MarkedDocument, meant: Any) -> Iterator[MarkedProblem]:
    """List the problems of private keys and tokens in ``meant``, which is ``document`` in v1."""
    root = as_dict(meant)
    for index, extender in enumerate(as_list(root.get("extenders"))):
        if as_dict(as_dict(extender).get("tlsConfig")).get("keyData"):
            path = f"extenders[{index}].tlsConfig.{KEY}"
            yield _mark_problem(
                f"{path}: a private key cannot be saved here, since all can read it: use keyFile", path, document
            )
    for index, profile in enumerate(as_list(root.get("profiles"))):
        for place, config in enumerate(as_list(as_dict(profile).get("pluginConfig"))):
            provider = as_dict(as_dict(as_dict(config).get("args")).get("metricProvider"))
            if provider.get("token"):
                path = f"profiles[{index}].pluginConfig[{place}].args.metricProvider.{TOKEN}"
                message = "a token cannot be saved here, since all can read it: leave it out, it is not used here"
                yield _mark_problem(f"{path}: {message}", path, document)
