"""Paths of field selections and indexes, such as ``device.attributes["d"].?name[0]``."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.cel.cost import Frame, Run
from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.operations import lookup, missing_key_error, repack_native, repack_optional
from kschedweb.engine.cel.values import MISSING, NOTHING, OptionalValue, Uint, Value, format_value, go_name
from kschedweb.engine.values import dataclass

# Types of keys.
KEYS = frozenset((str, int, Uint, bool, float))


@dataclass(frozen=True, slots=True)
class PathStep:
    """One field selection or index on a path, cel-go's qualifier."""

    # The key, where the expression writes it out.
    key: Value = None
    # Computes the key, where it is an expression itself; None where ``key`` holds it.
    compute_key: Run | None = None
    # True for ``.?key`` and ``[?key]``: a missing key gives ``optional.none()`` from here on.
    optional: bool = False
    # True for the last step of ``has(…)``, which gives a bool.
    presence_test: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """A value and the steps that lead on from it, cel-go's attribute."""

    # Computes the value that the first step reads from.
    root: Run
    # True if ``root`` reads a variable.
    is_variable: bool = False
    steps: tuple[PathStep, ...] = ()
    # True if ``root`` is the variable ``device``.
    from_device: bool = False
    # As `Language.typed_optionals`.
    typed_optionals: bool = False

    def append_step(self, step: PathStep) -> Path:
        """Return the path with one more step."""
        return replace(self, steps=(*self.steps, step))

    def compile(self) -> Run:
        """Return the function that computes the value at the end of the path."""
        root, steps, typed_optionals = self.root, self.steps, self.typed_optionals
        if not steps:
            return _make_variable_reader(root) if self.is_variable and not typed_optionals else root
        # Nearly every selector reads `device.attributes[domain].name`: that path has a reader of its own.
        if self.from_device and len(steps) == 3 and all(map(_is_plain, steps)):
            field, domain, name = (step.key for step in steps)
            if field in ("attributes", "capacity"):
                return _make_domain_reader(field, domain, name)
        return lambda frame: walk_path(root(frame), steps, frame, typed_optionals=typed_optionals)


def _is_plain(step: PathStep) -> bool:
    return step.compute_key is None and type(step.key) is str and not step.optional and not step.presence_test


def _make_variable_reader(root: Run) -> Run:
    """Return the reader of a variable, before 1.37: it repacks an optional at each read."""

    def read(frame: Frame) -> Value:
        value = root(frame)
        return value if type(value) is not OptionalValue else repack_optional(value)

    return read


def _make_domain_reader(field: str, domain: str, name: str) -> Run:
    """Return the fast reader of one attribute or capacity of the device."""
    error = f"no such key: {name}"

    def read(frame: Frame) -> Value:
        domain_map = frame[0].domains[field].get(domain)
        value = MISSING if domain_map is None else domain_map.entries.get(name, MISSING)
        if value is MISSING:
            raise EvaluationError(error)
        return value

    return read


def walk_path(value: Value, steps: tuple[PathStep, ...], frame: Frame, *, typed_optionals: bool) -> Value:
    """Return the value at the end of ``steps``; raise EvaluationError where a key is missing.

    An optional without a value at the beginning is the result. One with a value is read through, and the result is an
    optional again.
    """
    optional = False
    if type(value) is OptionalValue:
        if value.value is MISSING:
            return value
        value, optional = value.value if typed_optionals else repack_native(value.value), True
    for step in steps:
        key = step.key if step.compute_key is None else _check_key(step.compute_key(frame))
        optional = optional or step.optional
        result = lookup(value, key)
        # After an optional step, `has()` asks whether the optional at the end has a value: see `plan_select`.
        if step.presence_test and not optional:
            return result is not MISSING
        if result is MISSING:
            if optional:
                return NOTHING
            raise missing_key_error(value, format_value(key))
        value = result
    return OptionalValue(value) if optional else value


def _check_key(value: Value) -> Value:
    if type(value) not in KEYS:
        raise EvaluationError(f"invalid qualifier type: {go_name(value)}")
    return value
