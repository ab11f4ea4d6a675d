"""Field paths and field errors in kube-scheduler's words: ``<path>: <Type>: <value>: <detail>``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kschedweb.engine.validation.golang import marshal_json, quote
from kschedweb.engine.values import dataclass


def child_path(path: str, name: str) -> str:
    """Return the path of a field inside ``path``; an empty path is the root."""
    return f"{path}.{name}" if path else name


@dataclass(frozen=True)
class Typed:
    """A value whose Go type is not a plain string, so that it is printed as JSON."""

    value: Any


@dataclass(frozen=True)
class Problem:
    """One field error."""

    # "" for the document.
    path: str
    # The whole text as kube-scheduler prints it.
    text: str


def render_value(value: Any) -> str:
    """Return a bad value as kube-scheduler prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Typed):
        return marshal_json(value.value)
    return str(value) if isinstance(value, int) else marshal_json(value)


def invalid(path: str, value: Any, detail: str) -> Problem:
    return Problem(path, f"{path}: Invalid value: {render_value(value)}" + (f": {detail}" if detail else ""))


def required(path: str, detail: str = "") -> Problem:
    return Problem(path, f"{path}: Required value" + (f": {detail}" if detail else ""))


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, f"{path}: Forbidden: {detail}")


def duplicate(path: str, value: Any) -> Problem:
    return Problem(path, f"{path}: Duplicate value: {render_value(value)}")


def unsupported(path: str, value: Any, supported: tuple[str, ...]) -> Problem:
    names = ", ".join(quote(name) for name in supported)
    return Problem(path, f"{path}: Unsupported value: {render_value(value)}: supported values: {names}")


def aggregate_problems(problems: Iterable[Problem]) -> str:
    """Return several errors as one text: the error itself, or ``[e1, e2]`` without repetition, as `NewAggregate`."""
    return aggregate_texts(problem.text for problem in problems)


def aggregate_texts(texts: Iterable[str]) -> str:
    """Return the texts of several errors as one, as ``aggregate_problems`` does."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
