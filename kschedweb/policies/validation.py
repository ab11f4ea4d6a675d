"""Validates a document with the engine; every error has its line.

The engine reports kube-scheduler's message and the path of the field; this module finds the position in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, Path, parse
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.releases import ReleaseError, load, released
from kschedweb.engine.releases.classic import classic_release, edition_of
from kschedweb.engine.releases.older import readable
from kschedweb.policies.dialect import Kind
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.extenders import refusals

if TYPE_CHECKING:
    from kschedweb.engine.config import Loaded, Release
    from kschedweb.engine.config.notes import Conversion
    from kschedweb.web.errors import FieldProblem

_TYPES = "Invalid value|Required value|Forbidden|Duplicate value|Unsupported value"
_PATH = r"[A-Za-z][\w.\[\]]*"
_SEVERAL = re.compile(rf'^(?P<head>.*initializing plugin "[^"]*": )\[(?P<list>{_PATH}: .*)\]$', re.S)
_NEXT = re.compile(rf", (?=(?:{_PATH}): (?:{_TYPES}))")
_LEADING_PATH = re.compile(rf"^({_PATH}): ")
LINE = re.compile(r"\bline (\d+)")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_QUOTED_STEP = re.compile(r"\['([^']*)'\]|([^.\[\]]+)|\[(\d+)\]")

PROCESS = ("release", "featureGates", "files")
VERSION = "version"  # in the process of a classic kube-scheduler, and no other
UNNAMED = "1.36"
"""The release of runs, searches and verdicts that were stored before they named one."""
NOTHING_SAID: Mapping[str, Any] = MappingProxyType({})
MOST_PROFILES = 200
"""What is shown of a document has each profile with all its defaults, some 7 kB."""
KEY, TOKEN = "keyData", "token"
SECRET = (f".tlsConfig.{KEY}", f".metricProvider.{TOKEN}")


@dataclass(frozen=True)
class Checked:
    """A text with the engine's findings; ``document`` is ``None`` if it is not YAML."""

    kind: ClassVar[Kind] = Kind.PROFILES

    text: str
    document: Document | None
    loaded: Loaded | None
    errors: list[MarkedProblem]
    warnings: list[MarkedProblem]

    @property
    def valid(self) -> bool:
        return self.loaded is not None and self.loaded.valid

    @property
    def conversion(self) -> Conversion | None:
        """What became of a document of a version before v1; ``None`` of any other, or where it cannot be converted."""
        return self.loaded.conversion if self.loaded and self.loaded.valid else None

    @property
    def secrets(self) -> list[MarkedProblem]:
        """Problems of private keys and tokens, which must not be stored."""
        return [problem for problem in self.warnings if problem.path.endswith(SECRET)]

    @property
    def notes(self) -> list[FieldProblem]:
        """What keeps live schedulers from running the document, although it may be saved."""
        configuration = self.loaded.configuration if self.loaded else None
        return refusals(configuration.extenders) if configuration else []


def release_of(process: Mapping[str, Any]) -> Release:
    """The release of profiles that ``process`` names, with its feature gates. Raises ReleaseError."""
    if unknown := sorted(process.keys() - set(PROCESS)):
        raise ReleaseError(f"{unknown[0]}: is not known; there are {', '.join(PROCESS)}")
    return released(process.get("release") or "", process.get("featureGates") or {}, process.get("files") or {})


def _classic(process: Mapping[str, Any]) -> Release:
    try:
        return classic_release(edition_of(dict(process)))
    except ObjectError as error:
        said = str(error)
        raise ReleaseError(said.replace(VERSION, "release", 1) if said.startswith(VERSION) else said) from None


def release_asked(process: Mapping[str, Any], release: str, gates: Mapping[str, bool] = NOTHING_SAID) -> Release:
    """The release that is asked for, else that of ``process``; its ``gates`` likewise. Raises ReleaseError.

    The files are always those of ``process``: they are the policy's.
    """
    if VERSION in process:
        asked: dict[str, Any] = {VERSION: release} if release else {}
        asked |= {"gates": [name for name, on in gates.items() if on]} if gates else {}
        return _classic({**process, **asked})
    given = {name: value for name, value in (("release", release), ("featureGates", gates)) if value}
    return release_of({"files": process.get("files"), **given} if release else {**process, **given})


def release_of_record(process: Mapping[str, Any]) -> Release:
    """The release, of either kind of policy, that a stored run, search or verdict was made as."""
    return _classic(process) if VERSION in process else release_of({"release": UNNAMED, **process})


def settled(process: Mapping[str, Any]) -> dict[str, Any]:
    """``process`` with the name of the release that it means today, as records keep it. Raises ReleaseError."""
    return {**process, "release": release_of(process).name}


def process_of(release: Release) -> dict[str, Any]:
    """The process that names ``release``: the reverse of ``release_of``."""
    if release.process:
        return dict(release.process)
    said = {"release": release.name, "featureGates": dict(release.switched), "files": dict(release.files)}
    return {name: value for name, value in said.items() if value}


def check(text: str, process: Mapping[str, Any] = NOTHING_SAID) -> Checked:
    """Read ``text`` as kube-scheduler does that ``process`` names; never raises for bad input."""
    try:
        document = parse(readable(text))
    except DocumentError as error:
        return Checked(text, None, None, [error.problem], [])
    if too_long := excess_profiles(document):
        return Checked(text, document, None, [too_long], [])
    try:
        loaded = load(text, release_of(process))
    except ReleaseError as error:
        said = f"process.{error}"
        return Checked(text, document, None, [MarkedProblem(said, said.partition(":")[0])], [])
    errors = [placed for found in loaded.problems for placed in _placed(found.path, found.text, document)]
    warnings = [_problem(message, _leading_path(message), document) for message in loaded.warnings]
    meant = loaded.conversion.document if loaded.conversion else document.data
    return Checked(text, document, loaded, errors, [*warnings, *_secrets(document, meant)])


def excess_profiles(document: Document) -> MarkedProblem | None:
    """Return the problem of a document, of either kind that has profiles, with more than a site can show."""
    profiles = document.data.get("profiles") if isinstance(document.data, dict) else None
    if not isinstance(profiles, list) or len(profiles) <= MOST_PROFILES:
        return None
    said = f"profiles: has {len(profiles):,} entries; at most {MOST_PROFILES} are taken"
    return _problem(said, "profiles", document)


def steps(path: str) -> Path:
    """``profiles[0].plugins.Enabled`` -> ``("profiles", 0, "plugins", "enabled")``."""
    return tuple(int(index) if index else name[:1].lower() + name[1:] for name, index in _STEP.findall(path))


def steps_of(path: str) -> Path:
    """As :func:`steps`, of a document whose fields may begin with a capital letter, or stand in quotes."""
    return tuple(int(index) if index else name or quoted for quoted, name, index in _QUOTED_STEP.findall(path))


def written(path: Path) -> str:
    """The reverse of :func:`steps`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _placed(path: str, text: str, document: Document) -> Iterator[MarkedProblem]:
    """A problem of the engine as problems of single fields; the engine reports all arguments of a plugin together."""
    several = _SEVERAL.match(text)
    if several and ".args." in path:
        base = path.partition(".args.")[0] + ".args."
        for item in _NEXT.split(several["list"]):
            found = _LEADING_PATH.match(item)
            yield _problem(several["head"] + item, base + (found[1] if found else ""), document)
    elif not path and LINE.search(text):
        # errors of YAML itself, such as a repeated key, name lines
        for complaint in [line for line in text.splitlines() if LINE.search(line)]:
            found = LINE.search(complaint)
            assert found is not None
            yield MarkedProblem(complaint.strip(), line=max(int(found[1]), 1))
    else:
        yield _problem(text, path, document)


def _problem(message: str, path: str, document: Document) -> MarkedProblem:
    keys = steps(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, written(keys), line, column, end, keys)


def _leading_path(message: str) -> str:
    found = _LEADING_PATH.match(message)
    return found[1] if found else ""


def _secrets(document: Document, meant: Any) -> Iterator[MarkedProblem]:
    """Problems of the private keys and tokens in ``meant``, what ``document`` says in v1."""
    root = as_dict(meant)
    for index, extender in enumerate(as_list(root.get("extenders"))):
        if as_dict(as_dict(extender).get("tlsConfig")).get("keyData"):
            path = f"extenders[{index}].tlsConfig.{KEY}"
            yield _problem(
                f"{path}: a private key cannot be saved here, since all can read it: use keyFile", path, document
            )
    for index, profile in enumerate(as_list(root.get("profiles"))):
        for place, config in enumerate(as_list(as_dict(profile).get("pluginConfig"))):
            provider = as_dict(as_dict(as_dict(config).get("args")).get("metricProvider"))
            if provider.get("token"):
                path = f"profiles[{index}].pluginConfig[{place}].args.metricProvider.{TOKEN}"
                said = "a token cannot be saved here, since all can read it: leave it out, it is not used here"
                yield _problem(f"{path}: {said}", path, document)
