"""The engine's verdict on a document, with every error put at its line.

kube-scheduler's words are kept; only the place is worked out here, from the path or the names in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.engine.config import load
from kschedweb.policies.document import Document, DocumentError, Path, Problem, parse
from kschedweb.policies.switches import as_dict, as_list

if TYPE_CHECKING:
    from kschedweb.engine.config import Loaded

_TYPES = "Invalid value|Required value|Forbidden|Duplicate value|Unsupported value"
_FIELD_ERROR = re.compile(rf"^(?P<path>[A-Za-z][\w.\[\]/-]*): (?:{_TYPES})")
_SEVERAL = re.compile(rf", (?=[A-Za-z][\w.\[\]/-]*: (?:{_TYPES}))")
_PROFILE = re.compile(r"^initializing profiles: creating profile for scheduler name (?P<name>\S*): (?P<rest>.*)$", re.S)
_PLUGIN_ARGS = re.compile(r'^initializing plugin "(?P<plugin>[^"]*)": (?P<rest>.*)$', re.S)
_PLUGIN = re.compile(r'(?P<type>\w+)Plugin "(?P<missing>[^"]+)" does not exist|plugin "(?P<plugin>[^"]+)"')
_PLUGIN_TYPE = re.compile(r"(?:extend |as \")(?P<type>\w+)Plugin")
_STRICT = re.compile(r"strict decoding error: ")
_DECODING_ARGS = re.compile(r"decoding \.profiles\[(?P<profile>\d+)\]\.pluginConfig\[(?P<config>\d+)\]: (?P<rest>.*)$", re.S)
_FIELD_NAMED = re.compile(r'(?:unknown|duplicate) field "(?P<path>[^"]+)"')
_GO_FIELD = re.compile(r"cannot unmarshal (?P<kind>\w+) .*?into Go (?:struct field \w+\.(?P<path>[\w.]+)|value) of type")
_LINE = re.compile(r"\bline (?P<line>\d+)(?:, column (?P<column>\d+))?")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_JSON_KINDS = {"string": str, "number": (int, float), "object": dict, "array": list, "bool": bool}


@dataclass(frozen=True)
class Checked:
    """A text with everything the engine says about it; ``document`` is ``None`` where it is no YAML at all."""

    text: str
    document: Document | None
    loaded: Loaded | None
    errors: list[Problem]
    warnings: list[Problem]

    @property
    def valid(self) -> bool:
        return self.loaded is not None and self.loaded.valid


def check(text: str) -> Checked:
    """Read ``text`` as kube-scheduler would; never raises for bad input."""
    try:
        document = parse(text)
    except DocumentError as error:
        return Checked(text, None, None, [error.problem], [])
    loaded = load(text)
    errors = [problem for message in loaded.errors for problem in placed(message, document)]
    warnings = [problem for message in loaded.warnings for problem in placed(message, document)]
    return Checked(text, document, loaded, errors, warnings)


def placed(message: str, document: Document) -> list[Problem]:
    """One error as the engine words it -> one problem for each field that it names."""
    profile = _PROFILE.match(message)
    if profile:
        return _in_profile(message, profile["name"], profile["rest"], document)
    if _STRICT.search(message):
        found = _decoding(message, document)
        if found:
            return found
    field = _FIELD_ERROR.match(message)
    if field:
        return [_problem(message, steps(field["path"]), document)]
    wrong_type = _GO_FIELD.search(message)
    if wrong_type:
        return [_wrong_type(message, wrong_type, document)]
    line = _LINE.search(message)
    if line:
        return [Problem(message, line=max(int(line["line"]), 1), column=int(line["column"] or 1))]
    named = re.match(r"^([A-Za-z]\w*(?:\[\d+\])?(?:\.[\w\[\]]+)*)(?::| )", message)
    path = steps(named[1]) if named else ()
    return [_problem(message, path if path and path[0] in as_dict(document.data) else (), document)]


def steps(path: str) -> Path:
    """``profiles[0].plugins.Enabled`` -> ``("profiles", 0, "plugins", "enabled")``."""
    found = [int(index) if index else name[:1].lower() + name[1:] for name, index in _STEP.findall(path)]
    return tuple(found)


def written(path: Path) -> str:
    """The reverse of :func:`steps`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _problem(message: str, path: Path, document: Document) -> Problem:
    line, column, end = document.place(path)
    return Problem(message, written(path), line, column, end, path)


def _in_profile(message: str, name: str, rest: str, document: Document) -> list[Problem]:
    profiles = as_list(as_dict(document.data).get("profiles"))
    named = [i for i, profile in enumerate(profiles) if as_dict(profile).get("schedulerName", "default-scheduler") == name]
    index = named[0] if named else 0
    base: Path = ("profiles", index)
    profile = as_dict(profiles[index]) if index < len(profiles) else {}
    args = _PLUGIN_ARGS.match(rest)
    if args:
        base = _args_path(base, profile, args["plugin"])
        texts = _SEVERAL.split(args["rest"].removeprefix("[").removesuffix("]"))
        if len(texts) == 1:
            texts = [args["rest"]]
        prefix = message[: len(message) - len(args["rest"])]
        return [
            _problem(prefix + text, base + (steps(field["path"]) if (field := _FIELD_ERROR.match(text)) else ()), document)
            for text in texts
        ]
    return [_problem(message, _plugin_entry(base, profile, rest), document)]


def _args_path(base: Path, profile: dict[str, Any], plugin: str) -> Path:
    for index, config in enumerate(as_list(profile.get("pluginConfig"))):
        if as_dict(config).get("name") == plugin:
            return (*base, "pluginConfig", index, "args")
    return base


def _plugin_entry(base: Path, profile: dict[str, Any], rest: str) -> Path:
    """The entry in ``plugins`` that an error about a plugin speaks of."""
    found = _PLUGIN.search(rest)
    if not found:
        return base
    kind = _PLUGIN_TYPE.search(rest)
    type_name = found["type"] or (kind["type"] if kind else "")
    point = type_name[:1].lower() + type_name[1:]
    for place in (point, "multiPoint"):
        enabled = as_list(as_dict(as_dict(profile.get("plugins")).get(place)).get("enabled"))
        hits = [i for i, entry in enumerate(enabled) if as_dict(entry).get("name") == (found["missing"] or found["plugin"])]
        if hits:
            # Of an entry given twice the later one is too much.
            return (*base, "plugins", place, "enabled", hits[-1])
    return base


def _decoding(message: str, document: Document) -> list[Problem]:
    base: Path = ()
    rest = message
    args = _DECODING_ARGS.search(message)
    if args:
        base = ("profiles", int(args["profile"]), "pluginConfig", int(args["config"]), "args")
        rest = args["rest"]
    return [_problem(message, base + steps(field["path"]), document) for field in _FIELD_NAMED.finditer(rest)] or (
        [_problem(message, base, document)] if base else []
    )


def _wrong_type(message: str, found: re.Match[str], document: Document) -> Problem:
    """Go names the fields on the way but no index: the first value of the wrong kind is the one."""
    base: Path = ()
    args = _DECODING_ARGS.search(message)
    if args:
        base = ("profiles", int(args["profile"]), "pluginConfig", int(args["config"]), "args")
    names = tuple((found["path"] or "").split(".")) if found["path"] else ()
    value: Any = document.data
    for step in base:
        value = value[step] if isinstance(step, int) and step < len(as_list(value)) else as_dict(value).get(str(step))
    return _problem(message, base + _first_wrong(value, names, found["kind"]), document)


def _first_wrong(value: Any, names: tuple[str, ...], kind: str) -> Path:
    if not names:
        return ()
    if isinstance(value, list):
        for index, item in enumerate(value):
            if _is_wrong(item, names, kind):
                return (index, *_first_wrong(item, names, kind))
        return ()
    if not isinstance(value, dict) or names[0] not in value:
        return ()
    return (names[0], *_first_wrong(value[names[0]], names[1:], kind))


def _is_wrong(value: Any, names: tuple[str, ...], kind: str) -> bool:
    if isinstance(value, list) and names:
        return any(_is_wrong(item, names, kind) for item in value)
    if names:
        return isinstance(value, dict) and names[0] in value and _is_wrong(value[names[0]], names[1:], kind)
    expected = _JSON_KINDS.get(kind)
    return expected is None or isinstance(value, expected) and (kind == "bool") == isinstance(value, bool)
