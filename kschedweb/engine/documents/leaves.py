"""Leaf types of documents: each reads a value, reports its problems, and gives its JSON Schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import SelectorError, label_selector
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

# Patterns for JSON Schema only; the values are read by code.
DURATION = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
QUANTITY = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$"
# Seconds: 100 years. Longer waits are a mistake, and would overflow times.
LONGEST = 100 * 366 * 86400.0
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """One problem of a document."""

    # A path such as ``changes[2].drainNodes.nodes``; "" for the whole document.
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


Problems = list[DocumentProblem]


class Faulty(ValueError):
    """Problems between the parts of an object; their paths begin at the object."""

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(map(str, self.problems)))


class Leaf(Protocol):
    """A leaf type. ``read`` returns the value in its Python form, and adds problems to ``problems``."""

    def read(self, raw: Any, path: str, problems: Problems) -> Any: ...

    def schema(self) -> Json: ...


def key_path(path: str, key: str) -> str:
    """Return the path of ``key`` in the object at ``path``."""
    if _PLAIN.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def describe_kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    min_length: int = 0
    max_length: int | None = 10_000
    # Must match the whole value.
    pattern: str = ""
    # The pattern in words, for messages.
    form: str = ""
    # Its type in Go.
    go: str = "string"

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        if not isinstance(raw, str):
            problems.append(DocumentProblem(path, f"must be a string, is {describe_kind(raw)}"))
        elif "\x00" in raw:
            problems.append(DocumentProblem(path, "must not hold a NUL character"))
        elif len(raw) < self.min_length:
            problems.append(DocumentProblem(path, "must not be empty"))
        elif self.max_length is not None and len(raw) > self.max_length:
            problems.append(
                DocumentProblem(path, f"has {len(raw):,} characters; at most {self.max_length:,} are taken")
            )
        elif self.pattern and not re.fullmatch(self.pattern, raw):
            problems.append(DocumentProblem(path, f"must be {self.form}, is {raw[:60]!r}"))
        else:
            return raw
        return ""

    def schema(self) -> Json:
        schema: Json = {"type": "string"}
        if self.max_length is not None:
            schema["maxLength"] = self.max_length
        if self.min_length:
            schema["minLength"] = self.min_length
        return schema | ({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    minimum: float = -math.inf
    maximum: float = math.inf
    whole: bool = False
    # Exclude the minimum itself.
    above: bool = False
    # Width in Go; 0 if Go does not read it.
    bits: int = 0
    # Type in Go, if the width alone does not say it.
    go_type: str = ""

    @property
    def go(self) -> str:
        return self.go_type or f"{'int' if self.whole else 'float'}{self.bits}"

    @property
    def is_signed(self) -> bool:
        """True if Go's type has a sign."""
        return not self.go_type.startswith("uint")

    def read(self, raw: Any, path: str, problems: Problems) -> Any:
        expected = "a whole number" if self.whole else "a number"
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            problems.append(DocumentProblem(path, f"must be {expected}, is {describe_kind(raw)}"))
            return 0
        if not _is_finite(raw):
            problems.append(DocumentProblem(path, "must be a finite number"))
            return 0
        if self.whole and raw != int(raw):
            problems.append(DocumentProblem(path, f"must be {expected}, is {raw:g}"))
        if raw < self.minimum or (self.above and raw == self.minimum):
            problems.append(
                DocumentProblem(path, f"must be {'above' if self.above else 'at least'} {self.minimum:g}, is {raw}")
            )
        elif raw > self.maximum:
            problems.append(DocumentProblem(path, f"must be at most {self.maximum:,g}, is {raw}"))
        return int(raw) if self.whole else float(raw)

    def schema(self) -> Json:
        schema: Json = {"type": "integer" if self.whole else "number"}
        if math.isfinite(self.minimum):
            schema["exclusiveMinimum" if self.above else "minimum"] = self.minimum
        return schema | ({"maximum": self.maximum} if math.isfinite(self.maximum) else {})


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds: a number of them, or a Go duration such as 90s, 10m or 1h30m."""

    minimum: float = 0.0
    above: bool = False

    def read(self, raw: Any, path: str, problems: Problems) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            problems.append(
                DocumentProblem(path, f'must be a duration, such as "90s" or "1h30m", is {describe_kind(raw)}')
            )
            return 0.0
        if isinstance(raw, str):
            try:
                duration = parse_seconds(raw)
            except ValueError:
                text = f'must be a duration, such as "90s" or "1h30m", or a number of seconds, is {raw[:60]!r}'
                problems.append(DocumentProblem(path, text))
                return 0.0
        else:
            duration = float(raw) if _is_finite(raw) else math.inf
        if not duration <= LONGEST:
            problems.append(DocumentProblem(path, "must be at most 100 years"))
        elif duration < self.minimum or (self.above and duration == self.minimum):
            bound = f"{'above' if self.above else 'at least'} {self.minimum:g} s"
            problems.append(DocumentProblem(path, f"must be {bound}, is {raw}"))
        return duration

    def schema(self) -> Json:
        bound = "exclusiveMinimum" if self.above else "minimum"
        number = {"type": "number", bound: self.minimum, "maximum": LONGEST}
        return {"anyOf": [number, {"type": "string", "pattern": DURATION}]}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity as text; a number is accepted, too."""

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        try:
            quantity.read_quantity(raw, "")
        except ObjectError as error:
            problems.append(DocumentProblem(path, str(error).removeprefix(": ")))
            return "0"
        return raw if isinstance(raw, str) else repr(raw)

    def schema(self) -> Json:
        return {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": QUANTITY}]}


@dataclass(frozen=True, slots=True)
class EnumChoice:
    values: tuple[str, ...]

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        if isinstance(raw, str) and raw in self.values:
            return raw
        description = repr(raw[:60]) if isinstance(raw, str) else describe_kind(raw)
        problems.append(DocumentProblem(path, f"must be {' or '.join(self.values)}, is {description}"))
        return self.values[0]

    def schema(self) -> Json:
        return {"enum": list(self.values)}


@dataclass(frozen=True, slots=True)
class Flag:
    go: ClassVar = "bool"

    def read(self, raw: Any, path: str, problems: Problems) -> bool:
        if not isinstance(raw, bool):
            problems.append(DocumentProblem(path, f"must be true or false, is {describe_kind(raw)}"))
        return raw is True

    def schema(self) -> Json:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A metav1.LabelSelector, kept as it is written once it has been checked."""

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(
                DocumentProblem(path, f"must be a label selector with matchLabels, is {describe_kind(raw)}")
            )
            return {}
        for key in raw.keys() - {"matchLabels", "matchExpressions"}:
            problems.append(
                DocumentProblem(key_path(path, str(key)), "is not known; known are matchExpressions, matchLabels")
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
    """A JSON object that is kept as it is."""

    # Raises ObjectError with the path within the object.
    check: Callable[[Json], object] | None = None
    # Allowed kinds of Kubernetes objects; empty for any object.
    kinds: tuple[str, ...] = ()

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {describe_kind(raw)}"))
            return {}
        if self.kinds and raw.get("kind") not in self.kinds:
            actual = raw.get("kind")
            description = repr(actual[:60]) if isinstance(actual, str) else describe_kind(actual)
            problems.append(
                DocumentProblem(key_path(path, "kind"), f"must be {' or '.join(self.kinds)}, is {description}")
            )
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
