"""What stands before dots and brackets, and the way through them: ``device.attributes["d"].?name[0]``."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.cel.effort import Frame, Run
from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.operations import at, missing, native, repacked
from kschedweb.engine.cel.values import MISSING, NOTHING, Perhaps, Uint, Value, go_name, shown
from kschedweb.engine.values import dataclass

KEYS = frozenset((str, int, Uint, bool, float))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a way: a key that is written out, or one that ``run`` computes.

    ``optional``: from here on what is not there is no error; ``test``: only whether it is there.
    """

    key: Value = None
    run: Run | None = None
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """``root`` gives the value from which the steps lead on; ``variable``: it reads one. ``keeps``: as of Language."""

    root: Run
    variable: bool = False
    steps: tuple[Step, ...] = ()
    from_device: bool = False
    keeps: bool = False

    def then(self, step: Step) -> Path:
        return replace(self, steps=(*self.steps, step))

    def run(self) -> Run:
        """What follows the whole way."""
        root, steps, keeps = self.root, self.steps, self.keeps
        if not steps:
            return _reading(root) if self.variable and not keeps else root
        if self.from_device and len(steps) == 3 and all(map(_plain, steps)):
            field, domain, name = (step.key for step in steps)
            if field in ("attributes", "capacity"):
                return _from_domain(field, domain, name)
        return lambda frame: walk(root(frame), steps, frame, keeps=keeps)


def _plain(step: Step) -> bool:
    return step.run is None and type(step.key) is str and not step.optional and not step.test


def _reading(root: Run) -> Run:
    def read(frame: Frame) -> Value:
        value = root(frame)
        return value if type(value) is not Perhaps else repacked(value)

    return read


def _from_domain(field: str, domain: str, name: str) -> Run:
    """The common case, made quick: an attribute, or a capacity, of the device."""
    error = f"no such key: {name}"

    def read(frame: Frame) -> Value:
        named = frame[0].domains[field].get(domain)
        value = MISSING if named is None else named.entries.get(name, MISSING)
        if value is MISSING:
            raise EvaluationError(error)
        return value

    return read


def walk(value: Value, steps: tuple[Step, ...], frame: Frame, *, keeps: bool) -> Value:
    """Where ``steps`` lead from ``value``; raises EvaluationError where something on the way is not there."""
    optional = False
    if type(value) is Perhaps:
        if value.value is MISSING:
            return value
        value, optional = value.value if keeps else native(value.value), True
    for step in steps:
        key = step.key if step.run is None else _key(step.run(frame))
        optional = optional or step.optional
        found = at(value, key)
        if step.test and not optional:
            return found is not MISSING
        if found is MISSING:
            if optional:
                return NOTHING
            raise missing(value, shown(key))
        value = found
    return Perhaps(value) if optional else value


def _key(value: Value) -> Value:
    if type(value) not in KEYS:
        raise EvaluationError(f"invalid qualifier type: {go_name(value)}")
    return value
