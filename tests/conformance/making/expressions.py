"""Random CEL expressions over a device's attributes and capacity, and devices to try them on; mostly well typed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.conformance.making.chance import Chance

DRIVER, OTHER = "gpu.example.com", "other.example.com"
NAMES = [*["model", "index", "shared", "version"] * 4, "nothing"]
AMOUNTS = [*["memory", "slots"] * 5, "nothing"]
VERSIONS = ["1.2.3", "1.10.0", "2.0.0-rc.1", "2.0.0-rc.1.2", "2.0.0", "0.0.1+build.5"]
QUANTITIES = ["10Gi", "10240Mi", "1", "1500m", "1.5Ki", "0", "1e3", "1k", "7.5", "100E", "3n"]
# kube-scheduler changes one with many digits for all that ask later, when it adds to it.
CAPACITIES = [amount for amount in QUANTITIES if amount != "1.5Ki"]
TEXTS = ["a100", "h100", "A", "", "a", "1.2.3", "10Gi", "5", "true", "x-y_z", "é"]
PATTERNS = ["^[a-z]", "[0-9]+", "a|b", "(?i)A", "x*", "\\\\d{2,}", "^$", "[^a-z]", "\\\\w+-\\\\w+", "(a+|1)*?0", "."]
FAULTY = ["(", "[b-a]", "a**", "\\\\1"]
BROKEN_VERSIONS = ["v1.2", "1.2", "01.2.3", "", "1.2.3-", "1.x.3"]
BROKEN_QUANTITIES = ["", "ten", "1ki", "1.5.5", "5e", "Gi"]
DEPTH = 4


class ExpressionMaker(Chance):
    """Draws one expression after the other; variables of macros are remembered with their types."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.variables: list[tuple[str, str]] = []
        self.count = 0

    def device(self) -> dict:
        """A device as in a ResourceSlice."""
        attribute_values = {
            "model": {"string": self.pick(TEXTS)},
            "index": {"int": self.pick([0, 1, 2, 5, -3, 9223372036854775807])},
            "shared": {"bool": self.maybe(0.5)},
            "version": {"version": self.pick(VERSIONS)},
        }
        if self.maybe(0.15):
            attribute_values["model"], attribute_values["index"] = attribute_values["index"], attribute_values["model"]
        attributes = {name: value for name, value in attribute_values.items() if self.maybe(0.93)}
        attributes |= {f"{OTHER}/{name}": value for name, value in attribute_values.items() if self.maybe(0.3)}
        capacity_names = ["memory", "slots", f"{OTHER}/memory"]
        capacity = {name: {"value": self.pick(CAPACITIES)} for name in capacity_names if self.maybe(0.93)}
        return {"attributes": attributes, "capacity": capacity} | (
            {"allowMultipleAllocations": True} if self.maybe(0.3) else {}
        )

    def expression(self) -> str:
        self.variables, self.count = [], 0
        return self.attribute() if self.maybe(0.03) else self.condition(DEPTH)

    def draw(self, kind: str, depth: int) -> str:
        """An expression of a kind; seldom of another one, or one whose type only the evaluation knows."""
        if self.maybe(0.005):
            kind = self.pick(["bool", "int", "string", "double", "uint", "quantity", "semver", "list"])
        elif self.maybe(0.1):
            return self.attribute_of_kind(kind)
        elif self.maybe(0.02):
            return f"dyn({self.draw(kind, depth - 1)})"
        ways: dict[str, Callable[[int], str]] = {
            "bool": self.condition,
            "int": self.integer,
            "uint": self.unsigned_integer,
            "double": self.double,
            "string": self.string,
            "list": self.numbers,
            "texts": self.texts,
            "quantity": self.quantity,
            "semver": self.semver,
            "map": self.mapping,
            "optional": self.optional,
        }
        return ways[kind](depth)

    def attribute_of_kind(self, kind: str) -> str:
        """An attribute that is mostly of the kind."""
        name = {"bool": "shared", "int": "index", "string": "model", "semver": "version"}.get(kind, "")
        return f'device.attributes["{DRIVER}"].{name}' if name and self.maybe(0.8) else self.attribute()

    def domain(self) -> str:
        return self.pick([*[DRIVER] * 9, OTHER, OTHER, "none.example.com"])

    def variable(self, kind: str) -> str:
        """A variable of a kind, empty if there is none."""
        names = [name for name, variable_kind in self.variables if variable_kind == kind]
        return self.pick(names) if names and self.maybe(0.6) else ""

    def attribute(self) -> str:
        base = f'device.attributes["{self.domain()}"]'
        name = self.pick(NAMES)
        return f'{base}["{name}"]' if self.maybe(0.1) else f"{base}.{name}"

    def capacity(self) -> str:
        return f'device.capacity["{self.domain()}"].{self.pick(AMOUNTS)}'

    def new(self, kind: str) -> str:
        self.count += 1
        name = f"v{self.count}"
        self.variables.append((name, kind))
        return name

    def macro(self, make_body: Callable[[], str], kind: str = "int") -> tuple[str, str]:
        """A variable over a list, and the expression that ``make_body`` makes with it."""
        before = list(self.variables)
        name = self.new(kind)
        body = make_body()
        self.variables = before
        return name, body

    def condition(self, depth: int) -> str:
        if depth <= 0:
            variable = self.variable("bool")
            plain = ["true", "false", "device.allowMultipleAllocations", *([variable] * 4 if variable else [])]
            return str(self.pick(plain)) if self.maybe(0.5) else self.attribute()
        ways: list[Callable[[int], str]] = [self.logic, self.comparison, self.comparison, self.equality, self.equality]
        ways += [
            self.membership,
            self.presence,
            self.text_test,
            self.version_test,
            self.quantifier,
            self.conditional,
            self.binding,
        ]
        return self.pick(ways)(depth - 1)

    def logic(self, depth: int) -> str:
        if self.maybe(0.2):
            return f"!({self.draw('bool', depth)})"
        sign = self.pick([" && ", " || "])
        terms = [self.draw("bool", depth) for _ in range(self.pick([2, 2, 3]))]
        return f"({sign.join(terms)})"

    def comparison(self, depth: int) -> str:
        kind = self.pick(["int", "int", "string", "double", "uint", "bool"])
        other = self.pick(["int", "uint", "double"]) if kind in ("int", "double", "uint") else kind
        return f"{self.draw(kind, depth)} {self.pick(['<', '<=', '>', '>='])} {self.draw(other, depth)}"

    def equality(self, depth: int) -> str:
        kinds = ["int", "string", "bool", "quantity", "semver", "list", "texts", "double", "map", "optional"]
        kind = self.pick(kinds)
        return f"{self.draw(kind, depth)} {self.pick(['==', '==', '!='])} {self.draw(kind, depth)}"

    def membership(self, depth: int) -> str:
        if self.maybe(0.2):
            return f'"{self.pick([*NAMES, DRIVER])}" in {self.pick(["device.attributes", self.mapping(depth)])}'
        kind = self.pick(["int", "string", "semver"])
        container_kind = {"int": "list", "string": "texts"}.get(kind)
        container = self.draw(container_kind, depth) if container_kind else f"[{self.draw(kind, depth)}]"
        return f"{self.draw(kind, depth)} in {container}"

    def presence(self, depth: int) -> str:
        if self.maybe(0.3):
            return f"{self.optional(depth)}.hasValue()"
        return f"has({self.attribute_path()})"

    def attribute_path(self) -> str:
        return f'device.attributes["{self.domain()}"].{self.pick(NAMES)}{self.pick(["", "", ".x"])}'

    def text_test(self, depth: int) -> str:
        text = self.draw("string", depth)
        if self.maybe(0.4):
            pattern = self.pick(PATTERNS if self.maybe(0.95) else FAULTY)
            return f'{text}.matches("{pattern}")'
        return f"{text}.{self.pick(['contains', 'startsWith', 'endsWith'])}({self.draw('string', depth)})"

    def version_test(self, depth: int) -> str:
        kind = self.pick(["quantity", "semver"])
        if self.maybe(0.5):
            return f"{self.draw(kind, depth)}.compareTo({self.draw(kind, depth)}) {self.pick(['<', '==', '>='])} 0"
        if self.maybe(0.2):
            return f"{self.quantity(depth)}.isInteger()"
        if self.maybe(0.2):
            return self.pick(
                [
                    f"isQuantity({self.draw('string', depth)})",
                    f"isSemver({self.draw('string', depth)}, true)",
                ]
            )
        return f"{self.draw(kind, depth)}.{self.pick(['isGreaterThan', 'isLessThan'])}({self.draw(kind, depth)})"

    def quantifier(self, depth: int) -> str:
        if self.maybe(0.25):
            return self.over_map(depth)
        kind, items_kind = self.pick([("int", "list"), ("string", "texts")])
        items = self.draw(items_kind, depth)
        if self.maybe(0.2):
            index = self.new("int")
            name, body = self.macro(lambda: self.draw("bool", depth), kind)
            self.variables.remove((index, "int"))
            return f"{items}.{self.pick(['all', 'exists', 'existsOne'])}({index}, {name}, {body})"
        name, body = self.macro(lambda: self.draw("bool", depth), kind)
        if self.maybe(0.15):
            return (
                f"sets.{self.pick(['contains', 'intersects', 'equivalent'])}({items}, {self.draw(items_kind, depth)})"
            )
        return f"{items}.{self.pick(['all', 'exists', 'exists_one'])}({name}, {body})"

    def over_map(self, depth: int) -> str:
        """Over a map of one entry: the order of more is left to chance."""
        key, value = self.new("string"), self.new("int")
        body = self.draw("bool", depth)
        self.variables = [variable for variable in self.variables if variable[0] not in (key, value)]
        return f'{{"{self.pick(TEXTS)}": {self.integer(depth)}}}.{self.pick(["all", "exists"])}({key}, {value}, {body})'

    def conditional(self, depth: int, kind: str = "bool") -> str:
        return f"({self.draw('bool', depth)} ? {self.draw(kind, depth)} : {self.draw(kind, depth)})"

    def binding(self, depth: int) -> str:
        kind = self.pick(["int", "string", "quantity", "list", "optional", "semver", "bool"])
        value = self.draw(kind, depth)
        name, body = self.macro(lambda: self.draw("bool", depth), kind)
        return f"cel.bind({name}, {value}, {body})"

    def integer(self, depth: int) -> str:
        variable = self.variable("int")
        if variable or depth <= 0 or self.maybe(0.1):
            return variable or self.pick(["0", "1", "2", "5", "-3", "9223372036854775807", "-9223372036854775808"])
        inner, deeper = depth - 1, depth - 2
        ways: list[Callable[[], str]] = [
            lambda: f"({self.draw('int', inner)} {self.pick('+-*/%')} {self.draw('int', inner)})",
            lambda: f"size({self.draw(self.pick(['string', 'list', 'texts', 'map']), inner)})",
            lambda: f"{self.draw(self.pick(['string', 'list', 'texts']), inner)}.size()",
            lambda: f"int({self.draw(self.pick(['string', 'double', 'uint', 'int']), inner)})",
            lambda: f"{self.draw('string', inner)}.indexOf({self.draw('string', inner)})",
            lambda: f"{self.draw('semver', inner)}.{self.pick(['major', 'minor', 'patch'])}()",
            lambda: f"{self.draw('list', inner)}.{self.pick(['sum', 'max', 'min'])}()",
            lambda: f"{self.draw('list', inner)}[{self.draw('int', deeper)}]",
            lambda: f"{self.draw('quantity', inner)}.asInteger()",
            lambda: f"{self.optional(inner)}.orValue({self.draw('int', inner)})",
            lambda: f"-({self.draw('int', inner)})",
            lambda: self.conditional(inner, "int"),
        ]
        return self.pick(ways)()

    def unsigned_integer(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.5):
            return self.pick(["0u", "1u", "5u", "18446744073709551615u"])
        if self.maybe(0.5):
            return f"uint({self.draw(self.pick(['int', 'double', 'string']), depth - 1)})"
        return f"({self.unsigned_integer(depth - 1)} {self.pick('+-*/%')} {self.unsigned_integer(depth - 1)})"

    def double(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.5):
            return self.pick(["0.0", "1.0", "2.5", "-3.0", "1e19", "9223372036854775807.0", ".5", "(1.0 / 0.0)"])
        ways: list[Callable[[], str]] = [
            lambda: f"double({self.draw(self.pick(['int', 'string', 'uint']), depth - 1)})",
            lambda: f"({self.double(depth - 1)} {self.pick('+-*/')} {self.double(depth - 1)})",
            lambda: f"{self.draw('quantity', depth - 1)}.asApproximateFloat()",
        ]
        return self.pick(ways)()

    def string(self, depth: int) -> str:
        variable = self.variable("string")
        if variable or depth <= 0 or self.maybe(0.1):
            return variable or self.pick([f'"{self.pick(TEXTS)}"', "device.driver"])
        inner, deeper = depth - 1, depth - 2
        ways: list[Callable[[], str]] = [
            lambda: f"({self.draw('string', inner)} + {self.draw('string', inner)})",
            lambda: f"string({self.draw(self.pick(['int', 'bool', 'double', 'uint', 'string']), inner)})",
            lambda: f"{self.draw('string', inner)}.{self.pick(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f'{self.draw("string", inner)}.replace("{self.pick(TEXTS)}", {self.draw("string", deeper)})',
            lambda: f"{self.draw('string', inner)}.substring({self.draw('int', deeper)})",
            lambda: f"{self.draw('string', inner)}.charAt({self.draw('int', deeper)})",
            lambda: f'{self.draw("string", inner)}.find("{self.pick(PATTERNS)}")',
            lambda: f'{self.draw("texts", inner)}.join("{self.pick(TEXTS)}")',
            lambda: f"{self.draw('texts', inner)}[{self.draw('int', deeper)}]",
            lambda: f"{self.optional(inner)}.orValue({self.draw('string', inner)})",
        ]
        return self.pick(ways)()

    def numbers(self, depth: int) -> str:
        variable = self.variable("list")
        if variable or depth <= 0 or self.maybe(0.1):
            return variable or self.pick(["[1, 2, 5]", "[0]", "[]", "[5, -3, 5]", "lists.range(3)"])
        inner = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f"[{', '.join(self.integer(inner) for _ in range(self.random.randint(1, 3)))}]",
            lambda: f"[{self.attribute()}, {self.attribute()}]",
            lambda: f"({self.draw('list', inner)} + {self.draw('list', inner)})",
            lambda: f"{self.draw('list', inner)}.{self.pick(['sort', 'reverse', 'distinct'])}()",
            lambda: f"{self.draw('list', inner)}.slice({self.draw('int', 0)}, {self.draw('int', 0)})",
            lambda: self.comprehension(inner, self.pick(["map", "sortBy"]), self.pick(["int", "bool"])),
            lambda: self.comprehension(inner, "filter", "bool"),
            lambda: self.comprehension(inner, "map", "bool", self.pick(["1", self.attribute()])),
        ]
        return self.pick(ways)()

    def comprehension(self, depth: int, macro: str, kind: str, addend: str = "") -> str:
        """A macro that makes a list of a list of ints."""
        items = self.draw("list", depth)
        name, body = self.macro(lambda: self.draw(kind, depth))
        return f"{items}.{macro}({name}, {body}{f', {name} + {addend}' if addend else ''})"

    def texts(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.3):
            return self.pick(['["a100", "h100"]', '["a"]', '["", "x"]'])
        inner = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f'{self.draw("string", inner)}.split("{self.pick(["", "-", "1", "."])}")',
            lambda: f'{self.draw("string", inner)}.findAll("{self.pick(PATTERNS)}")',
            lambda: f"[{self.draw('string', inner)}, {self.string(inner)}]",
            lambda: self.mapped_texts(inner),
        ]
        return self.pick(ways)()

    def mapped_texts(self, depth: int) -> str:
        items = self.texts(depth)
        name, body = self.macro(lambda: self.draw("string", depth), "string")
        return f"{items}.map({name}, {body})"

    def quantity(self, depth: int) -> str:
        variable = self.variable("quantity")
        if variable or (depth <= 0 and self.maybe(0.5)):
            return variable or f'quantity("{self.pick(QUANTITIES if self.maybe(0.95) else BROKEN_QUANTITIES)}")'
        if depth <= 0 or self.maybe(0.5):
            return self.capacity()
        inner = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f"{self.draw('quantity', inner)}.{self.pick(['add', 'sub'])}({self.draw('quantity', inner)})",
            lambda: f"{self.draw('quantity', inner)}.{self.pick(['add', 'sub'])}({self.draw('int', inner)})",
            lambda: f"quantity({self.draw('string', inner)})",
            lambda: f'device.capacity["{self.domain()}"].?{self.pick(AMOUNTS)}.orValue({self.quantity(inner)})',
        ]
        return self.pick(ways)()

    def semver(self, depth: int) -> str:
        variable = self.variable("semver")
        if variable or depth <= 0 or self.maybe(0.4):
            return variable or f'semver("{self.pick(VERSIONS if self.maybe(0.93) else BROKEN_VERSIONS)}")'
        ways: list[Callable[[], str]] = [
            lambda: f'semver("{self.pick(BROKEN_VERSIONS)}", true)',
            lambda: f"semver({self.draw('string', depth - 1)}, {self.draw('bool', 0)})",
            lambda: f"semver({self.draw('string', depth - 1)})",
            self.attribute,
        ]
        return self.pick(ways)()

    def mapping(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.3):
            return self.pick(['{"a": 1}', '{"model": 1, "a": 2}', f'device.attributes["{self.domain()}"]', "{}"])
        if self.maybe(0.5):
            return f"{{{self.draw('string', depth - 1)}: {self.draw('int', depth - 1)}}}"
        items = self.numbers(depth - 1)
        name, body = self.macro(lambda: self.draw("int", depth - 1))
        return f"{items}.transformMap({self.pick(['i', 'k'])}, {name}, {body})"

    def optional(self, depth: int) -> str:
        variable = self.variable("optional")
        if variable:
            return variable
        base = f'device.attributes["{self.domain()}"]'
        if depth <= 0 or self.maybe(0.5):
            ways = [f"{base}.?{self.pick(NAMES)}", f'device.attributes[?"{self.domain()}"].?{self.pick(NAMES)}']
            return str(self.pick([*ways, f'device.capacity["{self.domain()}"].?{self.pick(AMOUNTS)}']))
        return self.built_optional(depth - 1)

    def built_optional(self, depth: int) -> str:
        kind = self.pick(["int", "string", "quantity"])
        ways: list[Callable[[], str]] = [
            lambda: f"optional.{self.pick(['of', 'ofNonZeroValue'])}({self.draw(kind, depth)})",
            lambda: "optional.none()",
            lambda: f"{self.draw('list', depth)}[?{self.draw('int', depth - 1)}]",
            lambda: f"{self.draw('list', depth)}.{self.pick(['first', 'last'])}()",
            lambda: f"{self.optional(depth)}.or({self.optional(depth)})",
            lambda: self.mapped_optional(depth),
        ]
        return self.pick(ways)()

    def mapped_optional(self, depth: int) -> str:
        optional, (name, body) = self.optional(depth), self.macro(lambda: self.draw("int", depth))
        if self.maybe(0.3):
            return f"{optional}.optFlatMap({name}, optional.of({body}))"
        return f"{optional}.optMap({name}, {body})"
