"""Finds the type of every part of an expression, and which overloads its calls can mean, as cel-go's checker does."""

from __future__ import annotations

from kschedweb.engine.cel.environment import LEFT_OUT, NAMES, Language
from kschedweb.engine.cel.errors import Refused
from kschedweb.engine.cel.functions import Function, Overload
from kschedweb.engine.cel.kinds import (
    BOOL,
    BYTES,
    DEVICE,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    Bindings,
    Type,
    device_fields,
    list_of,
    map_of,
    more_general,
    optional_of,
)
from kschedweb.engine.cel.syntax import (
    AND,
    OPTIONAL_SELECT,
    OR,
    Call,
    Fold,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
)
from kschedweb.engine.cel.values import Uint
from kschedweb.engine.values import dataclass

MAX_DEPTH = 90  # of parts within parts; more would need a deeper stack than Python's
MAX_PARTS = 20_000  # with those that a macro repeats
_LITERALS = {type(None): NULL, bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES}


@dataclass(slots=True)
class Checked:
    """``calls`` holds for each call its function and the overloads it can mean."""

    root: Node
    result: Type
    calls: dict[Call, tuple[Function, list[Overload]]]


def check(root: Node, language: Language) -> Checked:
    """Check an expression that selects devices; raises Refused without the expression's name."""
    checker = _Checker(language)
    result = checker.bindings.resolved(checker.check(root), final=True)
    checker.compare_literals()
    if result != BOOL and result not in language.results:
        raise Refused(f"it must evaluate to bool or the unknown type, not {result}")
    return Checked(root, result, checker.calls)


def dotted(node: Node) -> str:
    """The name that ``a.b.c`` spells, empty if it is something else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        before = dotted(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


def unwrapped(kind: Type) -> tuple[Type, bool]:
    """What an optional holds, and whether it is one."""
    return (kind.params[0], True) if kind.name == "optional_type" and kind.params else (kind, False)


class _Checker:
    def __init__(self, language: Language) -> None:
        self.functions, self.device_fields = language.functions, device_fields(language.attribute)
        self.keeps = language.keeps
        self.bindings = Bindings()
        self.scopes: list[dict[str, Type]] = [NAMES]
        self.types: dict[Node, Type] = {}
        self.calls: dict[Call, tuple[Function, list[Overload]]] = {}
        self.literals: list[ListOf | MapOf] = []
        self.depth = self.count = 0

    def check(self, node: Node) -> Type:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH or self.count > MAX_PARTS:
            raise Refused(f"it has more than {MAX_DEPTH} levels or {MAX_PARTS} parts")
        found = self.types[node] = self.kind_of(node)
        self.depth -= 1
        return found

    def kind_of(self, node: Node) -> Type:
        match node:
            case Literal():
                found = _LITERALS[type(node.value)]
            case Ident():
                found = self.ident(node)
            case Select():
                found = self.selected(node.operand, node.field, optional=False)
                found = BOOL if node.test else found
            case Call():
                found = self.call(node)
            case ListOf():
                found = self.list_of(node)
            case MapOf():
                found = self.map_of(node)
            case _:
                assert isinstance(node, Fold)
                found = self.fold(node)
        return found

    def ident(self, node: Ident) -> Type:
        for scope in self.scopes[:1] if node.rooted and self.keeps else reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        raise Refused(f"nothing is called {node.name}")

    def selected(self, operand: Node, name: str, *, optional: bool) -> Type:
        kind, was_optional = unwrapped(self.bindings.resolved(self.check(operand)))
        if kind.kind == "map":
            result = kind.params[1]
        elif kind == DEVICE:
            if name not in self.device_fields:
                raise Refused(f"a device has no field {name}")
            result = self.device_fields[name]
        elif kind.kind == "param":
            self.bindings.fits(DYN, kind)
            result = DYN
        elif kind.dynamic:
            result = DYN
        else:
            raise Refused(f"{kind} has no field {name}")
        result = optional_of(result) if was_optional or optional else result
        return self.bindings.resolved(result)

    def call(self, node: Call) -> Type:
        if node.function == OPTIONAL_SELECT:
            operand, field = node.args
            assert isinstance(field, Literal)
            return self.selected(operand, field.value, optional=True)
        types = [self.check(arg) for arg in node.args]
        if node.target is None:
            return self.resolved_call(node, node.function, types, member=False)
        name = f"{dotted(node.target)}.{node.function}"
        if name in self.functions or name in LEFT_OUT:
            return self.resolved_call(node, name, types, member=False)
        types.insert(0, self.check(node.target))
        return self.resolved_call(node, node.function, types, member=True)

    def resolved_call(self, node: Call, name: str, types: list[Type], *, member: bool) -> Type:
        function = self.functions.get(name)
        if function is None and name in LEFT_OUT:
            raise Refused(f"the function {name} is left out of the simulation")
        if function is None:
            raise Refused(f"no function is called {name}")
        if name in (AND, OR):
            return self.logical(node, function, types)
        matching: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != member:
                continue
            of, *params = self.bindings.instance((overload.result, *overload.params))
            if not self.bindings.all_fit(tuple(types), tuple(params)):
                continue
            matching.append(overload)
            of = self.bindings.resolved(of)
            if result is None:
                result = of
            elif not result.dynamic and of != result:
                result = DYN
        if result is None:
            shown = ", ".join(str(self.bindings.resolved(kind, final=True)) for kind in types)
            raise Refused(f"{name} is not defined for ({shown})")
        self.calls[node] = (function, matching)
        return result

    def logical(self, node: Call, function: Function, types: list[Type]) -> Type:
        for kind in types:
            if not self.bindings.fits(kind, BOOL):
                raise Refused(f"bool is expected, not {self.bindings.resolved(kind)}")
        self.calls[node] = (function, function.overloads)
        return BOOL

    def needs(self, kind: Type, wanted: Type) -> None:
        if not self.bindings.fits(wanted, kind):
            raise Refused(f"{self.bindings.resolved(wanted)} is expected, not {self.bindings.resolved(kind)}")

    def joined(self, first: Type | None, second: Type) -> Type:
        if first is None:
            return second
        self.needs(second, first)
        return more_general(first, second)

    def list_of(self, node: ListOf) -> Type:
        self.literals.append(node)
        element: Type | None = None
        for place, part in enumerate(node.elements):
            kind = self.check(part)
            element = self.joined(element, self.held(kind) if place in node.optional else kind)
        return list_of(element or self.bindings.fresh())

    def held(self, kind: Type) -> Type:
        """What the optional after a question mark holds."""
        inner, is_optional = unwrapped(kind)
        if not is_optional:
            # Where the type is not known, kube-scheduler ends with a panic.
            raise Refused(f"{kind} after ? is not known to be an optional")
        return inner

    def map_of(self, node: MapOf) -> Type:
        self.literals.append(node)
        key: Type | None = None
        value: Type | None = None
        for key_part, value_part, optional in node.entries:
            key = self.joined(key, self.check(key_part))
            kind = self.check(value_part)
            value = self.joined(value, self.held(kind) if optional else kind)
        return map_of(key or self.bindings.fresh(), value or self.bindings.fresh())

    def fold(self, node: Fold) -> Type:
        self.check(node.range)
        start = self.check(node.start)
        over = self.bindings.resolved(self.types[node.range])
        self.scopes.append({node.accumulator: start})
        self.scopes.append(dict(zip(node.variables, self.elements(over, len(node.variables)), strict=True)))
        self.needs(self.check(node.condition), BOOL)
        self.needs(self.check(node.step), start)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return self.bindings.resolved(result)

    def elements(self, over: Type, count: int) -> list[Type]:
        """The types of a macro's variables."""
        if over.kind == "list":
            return [over.params[0]] if count == 1 else [INT, over.params[0]]
        if over.kind == "map":
            return list(over.params[:count])
        if over.kind in ("param", "dyn"):
            self.bindings.fits(DYN, over)
            return [DYN] * count
        raise Refused(f"a macro goes over lists and maps, not over {over}")

    def compare_literals(self) -> None:
        """All elements of a list, all keys and all values of a map, must have one type."""
        for node in self.literals:
            if isinstance(node, ListOf):
                self.alike(node.elements, node.optional)
            else:
                self.alike([key for key, _, _ in node.entries], frozenset())
                optional = frozenset(place for place, entry in enumerate(node.entries) if entry[2])
                self.alike([value for _, value, _ in node.entries], optional)

    def alike(self, parts: list[Node], optional: frozenset[int]) -> None:
        found = [self.bindings.resolved(self.types[part], final=True) for part in parts]
        found = [unwrapped(kind)[0] if place in optional else kind for place, kind in enumerate(found)]
        for kind in found[1:]:
            if kind != found[0]:
                raise Refused(f"a list or map has both {found[0]} and {kind}")
