"""Types of single values in documents: of each it is said how it is read, what is wrong, and its JSON Schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.labels import SelectorError, label_selector
from kschedweb.engine.validation.golang import seconds
from kschedweb.engine.values import dataclass

DURATION = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
QUANTITY = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$"
LONGEST = 100 * 366 * 86400.0  # seconds
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """``path`` is like ``changes[2].drainNodes.nodes``, "" for the whole; ``text`` says what is wrong."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


Problems = list[DocumentProblem]


class Faulty(ValueError):
    """Things are wrong between the parts of an object; the paths of ``problems`` begin there."""

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(map(str, self.problems)))


class Leaf(Protocol):
    """``read`` gives the value in its form for Python, and adds what is wrong to ``problems``."""

    def read(self, raw: Any, path: str, problems: Problems) -> Any: ...

    def schema(self) -> Json: ...


def below(path: str, key: str) -> str:
    """The path of ``key`` in the object at ``path``."""
    if _PLAIN.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Text:
    """A string; ``pattern`` (of a whole value) goes with ``form``, which says it in words; ``go`` is its type in Go."""

    least: int = 0
    most: int | None = 10_000
    pattern: str = ""
    form: str = ""
    go: str = "string"

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        if not isinstance(raw, str):
            problems.append(DocumentProblem(path, f"must be a string, is {kind(raw)}"))
        elif "\x00" in raw:
            problems.append(DocumentProblem(path, "must not hold a NUL character"))
        elif len(raw) < self.least:
            problems.append(DocumentProblem(path, "must not be empty"))
        elif self.most is not None and len(raw) > self.most:
            problems.append(DocumentProblem(path, f"has {len(raw):,} characters; at most {self.most:,} are taken"))
        elif self.pattern and not re.fullmatch(self.pattern, raw):
            problems.append(DocumentProblem(path, f"must be {self.form}, is {raw[:60]!r}"))
        else:
            return raw
        return ""

    def schema(self) -> Json:
        found: Json = {"type": "string"}
        if self.most is not None:
            found["maxLength"] = self.most
        if self.least:
            found["minLength"] = self.least
        return found | ({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True, slots=True)
class Number:
    """A number; with ``above`` the least itself is too little.

    ``bits`` is its width where Go reads it, ``named`` its type there where the width alone does not say it.
    """

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    above: bool = False
    bits: int = 0
    named: str = ""

    @property
    def go(self) -> str:
        return self.named or f"{'int' if self.whole else 'float'}{self.bits}"

    @property
    def signed(self) -> bool:
        """Whether it has a sign where Go reads it."""
        return not self.named.startswith("uint")

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        wanted = "a whole number" if self.whole else "a number"
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            problems.append(DocumentProblem(path, f"must be {wanted}, is {kind(raw)}"))
            return 0
        if not _finite(raw):
            problems.append(DocumentProblem(path, "must be a finite number"))
            return 0
        if self.whole and raw != int(raw):
            problems.append(DocumentProblem(path, f"must be {wanted}, is {raw:g}"))
        if raw < self.least or (self.above and raw == self.least):
            problems.append(
                DocumentProblem(path, f"must be {'above' if self.above else 'at least'} {self.least:g}, is {raw}")
            )
        elif raw > self.most:
            problems.append(DocumentProblem(path, f"must be at most {self.most:,g}, is {raw}"))
        return int(raw) if self.whole else float(raw)

    def schema(self) -> Json:
        found: Json = {"type": "integer" if self.whole else "number"}
        if math.isfinite(self.least):
            found["exclusiveMinimum" if self.above else "minimum"] = self.least
        return found | ({"maximum": self.most} if math.isfinite(self.most) else {})


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds: a number of them, or a Go duration such as 90s, 10m or 1h30m."""

    least: float = 0.0
    above: bool = False

    def read(self, raw: Any, path: str, problems: Problems) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            problems.append(DocumentProblem(path, f'must be a duration, such as "90s" or "1h30m", is {kind(raw)}'))
            return 0.0
        if isinstance(raw, str):
            try:
                found = seconds(raw)
            except ValueError:
                text = f'must be a duration, such as "90s" or "1h30m", or a number of seconds, is {raw[:60]!r}'
                problems.append(DocumentProblem(path, text))
                return 0.0
        else:
            found = float(raw) if _finite(raw) else math.inf
        if not found <= LONGEST:
            problems.append(DocumentProblem(path, "must be at most 100 years"))
        elif found < self.least or (self.above and found == self.least):
            bound = f"{'above' if self.above else 'at least'} {self.least:g} s"
            problems.append(DocumentProblem(path, f"must be {bound}, is {raw}"))
        return found

    def schema(self) -> Json:
        bound = "exclusiveMinimum" if self.above else "minimum"
        number = {"type": "number", bound: self.least, "maximum": LONGEST}
        return {"anyOf": [number, {"type": "string", "pattern": DURATION}]}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity as text; a number is taken too."""

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        try:
            quantity.read(raw, "")
        except ObjectError as error:
            problems.append(DocumentProblem(path, str(error).removeprefix(": ")))
            return "0"
        return raw if isinstance(raw, str) else repr(raw)

    def schema(self) -> Json:
        return {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": QUANTITY}]}


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        if isinstance(raw, str) and raw in self.values:
            return raw
        told = repr(raw[:60]) if isinstance(raw, str) else kind(raw)
        problems.append(DocumentProblem(path, f"must be {' or '.join(self.values)}, is {told}"))
        return self.values[0]

    def schema(self) -> Json:
        return {"enum": list(self.values)}


@dataclass(frozen=True, slots=True)
class Flag:
    go: ClassVar = "bool"

    def read(self, raw: Any, path: str, problems: Problems) -> bool:
        if not isinstance(raw, bool):
            problems.append(DocumentProblem(path, f"must be true or false, is {kind(raw)}"))
        return raw is True

    def schema(self) -> Json:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A metav1.LabelSelector, kept as it is written once it has been checked."""

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be a label selector with matchLabels, is {kind(raw)}"))
            return {}
        for key in raw.keys() - {"matchLabels", "matchExpressions"}:
            problems.append(
                DocumentProblem(below(path, str(key)), "is not known; known are matchExpressions, matchLabels")
            )
        try:
            label_selector(raw, f"{path}.")
        except ObjectError as error:
            at, _, text = str(error).partition(": ")
            problems.append(DocumentProblem(at, text))
        except SelectorError as error:
            problems.append(DocumentProblem(path, str(error)))
        return raw

    def schema(self) -> Json:
        words = {"type": "string"}
        expression = {
            "type": "object",
            "properties": {
                "key": words,
                "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                "values": {"type": "array", "items": words},
            },
            "required": ["key", "operator"],
        }
        return {
            "type": "object",
            "properties": {
                "matchLabels": {"type": "object", "additionalProperties": words},
                "matchExpressions": {"type": "array", "items": expression},
            },
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class Object:
    """A JSON object that is kept as it is; ``check`` raises ObjectError with the path within it."""

    check: Callable[[Json], object] | None = None
    kinds: tuple[str, ...] = ()  # of Kubernetes objects; empty: any object

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {kind(raw)}"))
            return {}
        if self.kinds and raw.get("kind") not in self.kinds:
            found = raw.get("kind")
            told = repr(found[:60]) if isinstance(found, str) else kind(found)
            problems.append(DocumentProblem(below(path, "kind"), f"must be {' or '.join(self.kinds)}, is {told}"))
            return {}
        try:
            if self.check is not None:
                self.check(raw)
        except ObjectError as error:
            at, colon, text = str(error).partition(": ")
            problems.append(DocumentProblem(f"{path}.{at}" if colon else path, text if colon else at))
        return raw

    def schema(self) -> Json:
        if not self.kinds:
            return {"type": "object"}
        return {"type": "object", "properties": {"kind": {"enum": list(self.kinds)}}, "required": ["kind"]}
