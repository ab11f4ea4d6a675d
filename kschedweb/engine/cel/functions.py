"""What a function is: its overloads, and how a call finds the one for its values."""

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
    """One form of a function. ``member``: called as ``target.function()``, the target is the first parameter.

    ``run`` computes its value, ``None`` where the function does so for all of its forms. Where it is not ``guarded``
    it looks at its values itself.
    """

    params: tuple[Type, ...]
    result: Type
    member: bool
    run: Run | None = None
    guarded: bool = True

    def accepts(self, values: tuple[Value, ...]) -> bool:
        return len(values) == len(self.params) and all(map(matches_type, values, self.params))


@dataclass(slots=True)
class Function:
    """``run``, if given, computes the value for every overload."""

    name: str
    overloads: list[Overload] = field(default_factory=list)
    run: Run | None = None

    def dispatch(self, *values: Value) -> Value:
        """The value from the first overload that takes ``values``; raises EvaluationError if none does."""
        for overload in self.overloads:
            if overload.run and overload.accepts(values):
                return overload.run(*values)
        raise self.make_overload_error(values)

    def bind_overload(self, overload: Overload) -> Run:
        """What calls ``overload`` and no other."""
        run = overload.run
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
    """Whether a value is of the type of a parameter; of a list or map the first element speaks for all."""
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
    """Functions under their names, put together from several modules."""

    def __init__(self) -> None:
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
        """Add overloads, each as ``"int, A -> bool"``, that ``run`` computes."""
        function = self.functions.setdefault(name, Function(name))
        for form in [forms] if isinstance(forms, str) else forms:
            function.overloads.append(Overload(*parse_signature(form), member, run, guarded))

    def add_whole(self, name: str, forms: Iterable[str], run: Run, *, member: bool = False) -> None:
        """Add overloads of a function whose value ``run`` computes for all values, whatever they are."""
        self.add_overloads(name, forms, member=member)
        self.functions[name].run = run

    def merge(self, other: Library) -> None:
        """Take in what ``other`` has; the overloads of a function that both have are put together."""
        for name, function in other.functions.items():
            mine = self.functions.setdefault(name, Function(name, run=function.run))
            mine.overloads.extend(function.overloads)
