"""Functions: their overloads, and the choice of the overload for a call's values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kschedweb.engine.cel.errors import EvaluationError
from kschedweb.engine.cel.types import Type, parse_signature
from kschedweb.engine.cel.values import LISTS, TYPE_NAMES, Mapping, OptionalValue, TypeName, Value
from kschedweb.engine.values import dataclass

Run = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    # Types of the parameters. For a member function the first is the target's.
    params: tuple[Type, ...]
    result: Type
    # True if it is called as `target.function()`.
    member: bool
    # Computes the value; None where `Function.run` does so for all overloads.
    run: Run | None = None
    # False if `run` checks the types of its values itself.
    guarded: bool = True

    def accepts(self, values: tuple[Value, ...]) -> bool:
        """Return True if the values have the types of the parameters."""
        return len(values) == len(self.params) and all(map(matches_type, values, self.params))


@dataclass(slots=True)
class Function:
    """A function under its name, with all its overloads."""

    name: str
    overloads: list[Overload] = field(default_factory=list)
    # Computes the value for every overload, if there is one such function.
    run: Run | None = None

    def dispatch(self, *values: Value) -> Value:
        """Return the value of the first overload that accepts ``values``; raise EvaluationError if none does."""
        for overload in self.overloads:
            if overload.run and overload.accepts(values):
                return overload.run(*values)
        raise self.make_overload_error(values)

    def bind_overload(self, overload: Overload) -> Run:
        """Return a function that calls ``overload`` and no other one."""
        run = overload.run
        # An overload that checks its values itself words its own errors.
        assert run is not None
        if not overload.guarded:
            return run
        if len(overload.params) == 1:
            (param,) = overload.params

            def unary(value: Value) -> Value:
                if not matches_type(value, param):
                    raise self.make_overload_error((value,))
                return run(value)

            return unary

        def call(*values: Value) -> Value:
            if not overload.accepts(values):
                raise self.make_overload_error(values)
            return run(*values)

        return call

    def make_overload_error(self, values: Iterable[Value]) -> EvaluationError:
        names = ", ".join(TYPE_NAMES[type(value)] for value in values)
        return EvaluationError(f"no such overload: {self.name}({names})")


def matches_type(value: Value, param: Type) -> bool:
    """Return True if a value has the type of a parameter; a list or map is judged by its first element."""
    kind = param.kind
    if kind in ("dyn", "any", "param"):
        return True
    if kind == "list":
        return type(value) in LISTS and (not value or matches_type(value[0], param.params[0]))
    if kind == "map":
        if not isinstance(value, Mapping):
            return False
        first = next(value.items(), None)
        return first is None or all(map(matches_type, first, param.params))
    if kind == "opaque" and param.name == "optional_type":
        return type(value) is OptionalValue
    return TYPE_NAMES[type(value)] == param.name if kind != "type" else type(value) is TypeName


class Library:
    """A set of functions by name, put together from several modules."""

    def __init__(self) -> None:
        # In the order of declaration: a call takes the first overload that fits.
        self.functions: dict[str, Function] = {}

    def add_overloads(
        self,
        name: str,
        forms: Iterable[str] | str,
        run: Run | None = None,
        *,
        member: bool = False,
        guarded: bool = True,
    ) -> None:
        """Add overloads that ``run`` computes, each written as ``"int, A -> bool"``."""
        function = self.functions.setdefault(name, Function(name))
        for form in [forms] if isinstance(forms, str) else forms:
            function.overloads.append(Overload(*parse_signature(form), member, run, guarded))

    def add_whole(self, name: str, forms: Iterable[str], run: Run, *, member: bool = False) -> None:
        """Add overloads of a function that ``run`` computes for values of any type."""
        self.add_overloads(name, forms, member=member)
        self.functions[name].run = run

    def merge(self, other: Library) -> None:
        """Add the functions of ``other``; append the overloads of functions that both have."""
        for name, function in other.functions.items():
            mine = self.functions.setdefault(name, Function(name, run=function.run))
            mine.overloads.extend(function.overloads)
