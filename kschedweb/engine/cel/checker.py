"""Type checker: finds the type of every part and the possible overloads of every call, as cel-go's checker does."""

from __future__ import annotations

from kschedweb.engine.cel.environment import LEFT_OUT, NAMES, Language
from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.functions import Function, Overload
from kschedweb.engine.cel.syntax import (
    AND,
    OPTIONAL_SELECT,
    OR,
    Call,
    Fold,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
)
from kschedweb.engine.cel.types import (
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
from kschedweb.engine.cel.values import Uint
from kschedweb.engine.values import dataclass

# Levels of nesting; more would need a deeper stack than Python's.
MAX_DEPTH = 90
# Parts of an expression, with those that a macro repeats.
MAX_PARTS = 20_000
_LITERALS = {type(None): NULL, bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES}


@dataclass(slots=True)
class CheckedExpr:
    """An expression with its types resolved."""

    root: Node
    # The type of the whole expression.
    result: Type
    # For each call its function and the overloads that it can mean.
    calls: dict[Call, tuple[Function, list[Overload]]]


def check_expression(root: Node, language: Language) -> CheckedExpr:
    """Check an expression that selects devices; raise ExpressionError without the expression's text."""
    checker = _Checker(language)
    result = checker.bindings.substitute(checker.check(root), final=True)
    checker.compare_literals()
    if result != BOOL and result not in language.results:
        raise ExpressionError(f"it must evaluate to bool or the unknown type, not {result}")
    return CheckedExpr(root, result, checker.calls)


def qualified_name(node: Node) -> str:
    """Return the name that ``a.b.c`` spells, empty if the node is something else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        before = qualified_name(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


def unwrap_optional(kind: Type) -> tuple[Type, bool]:
    """Return the type inside an optional and True, or the type itself and False."""
    return (kind.params[0], True) if kind.name == "optional_type" and kind.params else (kind, False)


class _Checker:
    """Types of nodes, found from the leaves up; methods are named as cel-go's checker names them."""

    def __init__(self, language: Language) -> None:
        self.functions, self.device_fields = language.functions, device_fields(language.attribute)
        self.typed_optionals = language.typed_optionals
        self.bindings = Bindings()
        self.scopes: list[dict[str, Type]] = [NAMES]
        self.types: dict[Node, Type] = {}
        self.calls: dict[Call, tuple[Function, list[Overload]]] = {}
        # Lists and maps to be compared once all types are known.
        self.literals: list[ListExpr | MapExpr] = []
        self.depth = self.count = 0

    def check(self, node: Node) -> Type:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH or self.count > MAX_PARTS:
            raise ExpressionError(f"it has more than {MAX_DEPTH} levels or {MAX_PARTS} parts")
        kind = self.types[node] = self.kind_of(node)
        self.depth -= 1
        return kind

    def kind_of(self, node: Node) -> Type:
        match node:
            case Literal():
                kind = _LITERALS[type(node.value)]
            case Ident():
                kind = self.check_ident(node)
            case Select():
                kind = self.check_select_field(node.operand, node.field, optional=False)
                kind = BOOL if node.test else kind
            case Call():
                kind = self.check_call(node)
            case ListExpr():
                kind = self.check_create_list(node)
            case MapExpr():
                kind = self.check_create_map(node)
            case _:
                assert isinstance(node, Fold)
                kind = self.check_comprehension(node)
        return kind

    def check_ident(self, node: Ident) -> Type:
        for scope in self.scopes[:1] if node.rooted and self.typed_optionals else reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        raise ExpressionError(f"nothing is called {node.name}")

    def check_select_field(self, operand: Node, name: str, *, optional: bool) -> Type:
        """Return the type of ``operand.name``; optionals pass theirs on to the field."""
        kind, was_optional = unwrap_optional(self.bindings.substitute(self.check(operand)))
        if kind.kind == "map":
            result = kind.params[1]
        elif kind == DEVICE:
            if name not in self.device_fields:
                raise ExpressionError(f"a device has no field {name}")
            result = self.device_fields[name]
        elif kind.kind == "param":
            # Binds the parameter to dyn.
            self.bindings.is_assignable(DYN, kind)
            result = DYN
        elif kind.is_dynamic:
            result = DYN
        else:
            raise ExpressionError(f"{kind} has no field {name}")
        result = optional_of(result) if was_optional or optional else result
        return self.bindings.substitute(result)

    def check_call(self, node: Call) -> Type:
        if node.function == OPTIONAL_SELECT:
            operand, field = node.args
            assert isinstance(field, Literal)
            return self.check_select_field(operand, field.value, optional=True)
        types = [self.check(arg) for arg in node.args]
        if node.target is None:
            return self.resolve_overload(node, node.function, types, member=False)
        name = f"{qualified_name(node.target)}.{node.function}"
        if name in self.functions or name in LEFT_OUT:
            return self.resolve_overload(node, name, types, member=False)
        types.insert(0, self.check(node.target))
        return self.resolve_overload(node, node.function, types, member=True)

    def resolve_overload(self, node: Call, name: str, types: list[Type], *, member: bool) -> Type:
        """Return the result type of a call, and record the overloads that fit its arguments.

        Overloads with different results make the result dyn.
        """
        function = self.functions.get(name)
        if function is None and name in LEFT_OUT:
            raise ExpressionError(f"the function {name} is left out of the simulation")
        if function is None:
            raise ExpressionError(f"no function is called {name}")
        if name in (AND, OR):
            return self.check_logical(node, function, types)
        matching: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != member:
                continue
            # Fresh type variables for each attempt; a failed one leaves no bindings behind.
            overload_result, *params = self.bindings.instantiate((overload.result, *overload.params))
            if not self.bindings.is_assignable_list(tuple(types), tuple(params)):
                continue
            matching.append(overload)
            overload_result = self.bindings.substitute(overload_result)
            if result is None:
                result = overload_result
            elif not result.is_dynamic and overload_result != result:
                result = DYN
        if result is None:
            argument_types = ", ".join(str(self.bindings.substitute(kind, final=True)) for kind in types)
            raise ExpressionError(f"{name} is not defined for ({argument_types})")
        self.calls[node] = (function, matching)
        return result

    def check_logical(self, node: Call, function: Function, types: list[Type]) -> Type:
        for kind in types:
            if not self.bindings.is_assignable(kind, BOOL):
                raise ExpressionError(f"bool is expected, not {self.bindings.substitute(kind)}")
        self.calls[node] = (function, function.overloads)
        return BOOL

    def require_type(self, kind: Type, expected: Type) -> None:
        if not self.bindings.is_assignable(expected, kind):
            raise ExpressionError(
                f"{self.bindings.substitute(expected)} is expected, not {self.bindings.substitute(kind)}"
            )

    def join_types(self, first: Type | None, second: Type) -> Type:
        if first is None:
            return second
        self.require_type(second, first)
        return more_general(first, second)

    def check_create_list(self, node: ListExpr) -> Type:
        self.literals.append(node)
        element: Type | None = None
        for place, part in enumerate(node.elements):
            kind = self.check(part)
            element = self.join_types(element, self.unwrap_element(kind) if place in node.optional else kind)
        return list_of(element or self.bindings.new_type_var())

    def unwrap_element(self, kind: Type) -> Type:
        """Return the type inside the optional that follows a question mark."""
        inner, is_optional = unwrap_optional(kind)
        if not is_optional:
            # For a type that is not known yet, kube-scheduler panics.
            raise ExpressionError(f"{kind} after ? is not known to be an optional")
        return inner

    def check_create_map(self, node: MapExpr) -> Type:
        self.literals.append(node)
        key: Type | None = None
        value: Type | None = None
        for key_part, value_part, optional in node.entries:
            key = self.join_types(key, self.check(key_part))
            kind = self.check(value_part)
            value = self.join_types(value, self.unwrap_element(kind) if optional else kind)
        return map_of(key or self.bindings.new_type_var(), value or self.bindings.new_type_var())

    def check_comprehension(self, node: Fold) -> Type:
        self.check(node.range)
        start = self.check(node.start)
        over = self.bindings.substitute(self.types[node.range])
        self.scopes.append({node.accumulator: start})
        self.scopes.append(dict(zip(node.variables, self.element_types(over, len(node.variables)), strict=True)))
        self.require_type(self.check(node.condition), BOOL)
        self.require_type(self.check(node.step), start)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return self.bindings.substitute(result)

    def element_types(self, over: Type, count: int) -> list[Type]:
        """Return the types of a macro's variables."""
        if over.kind == "list":
            return [over.params[0]] if count == 1 else [INT, over.params[0]]
        if over.kind == "map":
            return list(over.params[:count])
        if over.kind in ("param", "dyn"):
            self.bindings.is_assignable(DYN, over)
            return [DYN] * count
        raise ExpressionError(f"a macro goes over lists and maps, not over {over}")

    def compare_literals(self) -> None:
        """Require one type for all elements of a list, and for all keys and all values of a map.

        This is cel-go's validator for homogeneous literals, which runs after the check.
        """
        for node in self.literals:
            if isinstance(node, ListExpr):
                self.require_same_type(node.elements, node.optional)
            else:
                self.require_same_type([key for key, _, _ in node.entries], frozenset())
                optional = frozenset(place for place, entry in enumerate(node.entries) if entry[2])
                self.require_same_type([value for _, value, _ in node.entries], optional)

    def require_same_type(self, parts: list[Node], optional: frozenset[int]) -> None:
        kinds = [self.bindings.substitute(self.types[part], final=True) for part in parts]
        kinds = [unwrap_optional(kind)[0] if place in optional else kind for place, kind in enumerate(kinds)]
        for kind in kinds[1:]:
            if kind != kinds[0]:
                raise ExpressionError(f"a list or map has both {kinds[0]} and {kind}")
