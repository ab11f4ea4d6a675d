"""Strict decoding of a whole document: its kind, its fields, and the plugin arguments inside it."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

from kschedweb.engine.config.decode import Decoded, DecodeError, decode, describe_json
from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import API_VERSION, GROUP, KIND
from kschedweb.engine.config.source import DocumentSource
from kschedweb.engine.config.specs import ArgsSpec
from kschedweb.engine.config.types import Struct
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import quote

# Characters of a document that a message repeats; kube-scheduler repeats all of it.
MAX_QUOTED = 2000
_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


class RefusedError(Exception):
    """The document is refused: the texts as kube-scheduler prints them, and the single problems in them."""

    def __init__(self, errors: list[str], problems: list[Problem]) -> None:
        super().__init__(errors)
        self.errors = errors
        self.problems = problems


def refusal(path: str, text: str) -> RefusedError:
    """Return the refusal for a single problem."""
    return RefusedError([text], [Problem(path, text)])


def decode_document(source: DocumentSource, release: Release) -> Json:
    """Return the decoded configuration. Raises ``RefusedError``."""
    structs = _Structs(release)
    kind = object_kind(source.value, source.text, structs, release.scheme)
    try:
        decoded = decode(structs[kind], source.value)
    except DecodeError as error:
        raise refusal(error.problem.path, error.problem.text) from error
    problems = [problem for problem in (find_repetition(source), *decoded.strict) if problem]
    texts = [problem.text for problem in problems]
    if kind == KIND:
        for problem, text in _decode_args(decoded.value, release):
            problems.append(problem)
            texts += [text] if text else []
    if texts:
        raise RefusedError([f"strict decoding error: {', '.join(texts)}"], problems)
    if kind != KIND:
        raise refusal("kind", f"not a {KIND}: *config.{kind}")
    value: Json = decoded.value
    return value


def find_repetition(source: DocumentSource) -> Problem | None:
    """Return YAML's complaint about repeated keys. Those of JSON are found while decoding."""
    if not source.duplicates:
        return None
    return Problem("", "yaml: unmarshal errors:\n  " + "\n  ".join(source.duplicates))


class _Structs:
    """The kinds that a release decodes, with their structs: configurations, and arguments of its plugins."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __contains__(self, kind: object) -> bool:
        return kind == KIND or self._find_args(str(kind)) is not None

    def __getitem__(self, kind: str) -> Struct:
        if (args := self._find_args(kind)) is not None:
            return args.struct
        return self._release.schema.configuration

    def _find_args(self, kind: str) -> ArgsSpec | None:
        return self._release.registry.find_args(kind.removesuffix("Args")) if kind.endswith("Args") else None


def _decode_args(configuration: Json, release: Release) -> list[tuple[Problem, str]]:
    """Decode the arguments of known plugins in place; those of other plugins stay as they are.

    Returns their strict errors as pairs: the problem for a person and, with the first of each plugin, the whole text as
    kube-scheduler nests it (empty with the others).
    """
    strict: list[tuple[Problem, str]] = []
    structs = _Structs(release)
    for i, profile in enumerate(configuration["profiles"] or ()):
        for j, config in enumerate(profile["pluginConfig"] or ()):
            if (spec := release.registry.find_args(config["name"])) is None:
                continue
            config_path = f"profiles[{i}].pluginConfig[{j}]"
            decoded = _decode_one(config, spec.kind, config_path, structs, release.scheme)
            config["args"] = decoded.value
            if decoded.strict:
                inner = ", ".join(problem.text for problem in decoded.strict)
                plugin = f"decoding args for plugin {config['name']}"
                text = f"decoding .{config_path}: strict decoding error: {plugin}: strict decoding error: {inner}"
                problems = [Problem(f"{config_path}.args.{problem.path}", problem.text) for problem in decoded.strict]
                strict += zip(problems, [text, *[""] * (len(problems) - 1)], strict=True)
    return strict


def _decode_one(config: Json, kind: str, config_path: str, structs: _Structs, scheme: str) -> Decoded:
    raw, plugin = config["args"], config["name"]
    args = f"{config_path}.args"
    context = f"decoding .{config_path}: decoding args for plugin {plugin}"
    try:
        actual_kind = object_kind(raw, json.dumps(raw, separators=(",", ":")), structs, scheme, default=kind)
        decoded = decode(structs[actual_kind], {} if raw is None else raw)
    except RefusedError as refused:
        raise refusal(args, f"{context}: {refused.errors[0]}") from refused
    except DecodeError as error:
        path = ".".join(filter(None, (args, error.problem.path)))
        raise refusal(path, f"{context}: {error.problem.text}") from error
    if actual_kind != kind:
        words = f"args for plugin {plugin} were not of type {kind}.{GROUP}, got {actual_kind}.{GROUP}"
        raise refusal(f"{args}.kind", f"decoding .{config_path}: {words}")
    return decoded


def object_kind(
    raw: Any, text: str, kinds: Container[str], scheme: str, *, default: str = "", version: str = API_VERSION
) -> str:
    """Return the kind of an object of ``version``; ``default`` stands in if no kind is written.

    ``text`` is the object as messages repeat it, ``scheme`` the place in the source that they name. Raises
    ``RefusedError`` for a value that is no object, and for an unknown kind or version.
    """
    api_version, kind = _read_type_meta(raw)
    if api_version.count("/") > 1:
        raise refusal("apiVersion", f"unexpected GroupVersion string: {api_version}")
    kind = kind or default
    if default and api_version in ("", "/", f"{GROUP}/"):
        api_version = version
    excerpt = text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
    if not kind:
        raise refusal("kind", f"Object 'Kind' is missing in '{excerpt}'")
    if not api_version.rpartition("/")[2]:
        raise refusal("apiVersion", f"Object 'apiVersion' is missing in '{excerpt}'")
    if api_version != version or kind not in kinds:
        words = f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme"
        raise refusal("kind" if api_version == version else "apiVersion", f'{words} "{scheme}"')
    return kind


def _read_type_meta(raw: Any) -> tuple[str, str]:
    """Return apiVersion and kind as written. Unlike all other fields they are matched in any letter case."""
    if raw is not None and not isinstance(raw, dict):
        raise refusal("", _parse_error(f"{describe_json(raw)} into Go value of type {_META}"))
    type_meta = {"apiVersion": "", "kind": ""}
    names = {name.lower(): name for name in type_meta}
    for key, value in (raw or {}).items():
        name = names.get(key.lower())
        if name is None or value is None:
            continue
        if not isinstance(value, str):
            raise refusal(key, _parse_error(f"{describe_json(value)} into Go struct field .{name} of type string"))
        type_meta[name] = value
    return type_meta["apiVersion"], type_meta["kind"]


def _parse_error(mismatch: str) -> str:
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {mismatch}"
