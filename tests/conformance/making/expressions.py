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
        known = {
            "model": {"string": self.pick(TEXTS)},
            "index": {"int": self.pick([0, 1, 2, 5, -3, 9223372036854775807])},
            "shared": {"bool": self.maybe(0.5)},
            "version": {"version": self.pick(VERSIONS)},
        }
        if self.maybe(0.15):
            known["model"], known["index"] = known["index"], known["model"]
        attributes = {name: value for name, value in known.items() if self.maybe(0.93)}
        attributes |= {f"{OTHER}/{name}": value for name, value in known.items() if self.maybe(0.3)}
        named = ["memory", "slots", f"{OTHER}/memory"]
        capacity = {name: {"value": self.pick(CAPACITIES)} for name in named if self.maybe(0.93)}
        return {"attributes": attributes, "capacity": capacity} | (
            {"allowMultipleAllocations": True} if self.maybe(0.3) else {}
        )

    def expression(self) -> str:
        self.variables, self.count = [], 0
        return self.attribute() if self.maybe(0.03) else self.condition(DEPTH)

    def of(self, kind: str, depth: int) -> str:
        """An expression of a kind; seldom of another one, or one whose type only the evaluation knows."""
        if self.maybe(0.005):
            kind = self.pick(["bool", "int", "string", "double", "uint", "quantity", "semver", "list"])
        elif self.maybe(0.1):
            return self.fitting(kind)
        elif self.maybe(0.02):
            return f"dyn({self.of(kind, depth - 1)})"
        ways: dict[str, Callable[[int], str]] = {
            "bool": self.condition,
            "int": self.whole,
            "uint": self.unsigned,
            "double": self.floating,
            "string": self.string,
            "list": self.numbers,
            "texts": self.texts,
            "quantity": self.quantity,
            "semver": self.semver,
            "map": self.mapping,
            "optional": self.optional,
        }
        return ways[kind](depth)

    def fitting(self, kind: str) -> str:
        """An attribute that is mostly of the kind."""
        name = {"bool": "shared", "int": "index", "string": "model", "semver": "version"}.get(kind, "")
        return f'device.attributes["{DRIVER}"].{name}' if name and self.maybe(0.8) else self.attribute()

    def domain(self) -> str:
        return self.pick([*[DRIVER] * 9, OTHER, OTHER, "none.example.com"])

    def variable(self, kind: str) -> str:
        """A variable of a kind, empty if there is none."""
        found = [name for name, of in self.variables if of == kind]
        return self.pick(found) if found and self.maybe(0.6) else ""

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

    def macro(self, body: Callable[[], str], kind: str = "int") -> tuple[str, str]:
        """A variable over a list, and what ``body`` says with it."""
        before = list(self.variables)
        name = self.new(kind)
        said = body()
        self.variables = before
        return name, said

    def condition(self, depth: int) -> str:
        if depth <= 0:
            found = self.variable("bool")
            plain = ["true", "false", "device.allowMultipleAllocations", *([found] * 4 if found else [])]
            return str(self.pick(plain)) if self.maybe(0.5) else self.attribute()
        ways: list[Callable[[int], str]] = [self.logic, self.compared, self.compared, self.equal, self.equal]
        ways += [
            self.inside,
            self.tested,
            self.asked_text,
            self.asked_version,
            self.quantified,
            self.chosen,
            self.bound,
        ]
        return self.pick(ways)(depth - 1)

    def logic(self, depth: int) -> str:
        if self.maybe(0.2):
            return f"!({self.of('bool', depth)})"
        sign = self.pick([" && ", " || "])
        terms = [self.of("bool", depth) for _ in range(self.pick([2, 2, 3]))]
        return f"({sign.join(terms)})"

    def compared(self, depth: int) -> str:
        kind = self.pick(["int", "int", "string", "double", "uint", "bool"])
        other = self.pick(["int", "uint", "double"]) if kind in ("int", "double", "uint") else kind
        return f"{self.of(kind, depth)} {self.pick(['<', '<=', '>', '>='])} {self.of(other, depth)}"

    def equal(self, depth: int) -> str:
        kinds = ["int", "string", "bool", "quantity", "semver", "list", "texts", "double", "map", "optional"]
        kind = self.pick(kinds)
        return f"{self.of(kind, depth)} {self.pick(['==', '==', '!='])} {self.of(kind, depth)}"

    def inside(self, depth: int) -> str:
        if self.maybe(0.2):
            return f'"{self.pick([*NAMES, DRIVER])}" in {self.pick(["device.attributes", self.mapping(depth)])}'
        kind = self.pick(["int", "string", "semver"])
        within = {"int": "list", "string": "texts"}.get(kind)
        found = self.of(within, depth) if within else f"[{self.of(kind, depth)}]"
        return f"{self.of(kind, depth)} in {found}"

    def tested(self, depth: int) -> str:
        if self.maybe(0.3):
            return f"{self.optional(depth)}.hasValue()"
        return f"has({self.attribute_path()})"

    def attribute_path(self) -> str:
        return f'device.attributes["{self.domain()}"].{self.pick(NAMES)}{self.pick(["", "", ".x"])}'

    def asked_text(self, depth: int) -> str:
        text = self.of("string", depth)
        if self.maybe(0.4):
            pattern = self.pick(PATTERNS if self.maybe(0.95) else FAULTY)
            return f'{text}.matches("{pattern}")'
        return f"{text}.{self.pick(['contains', 'startsWith', 'endsWith'])}({self.of('string', depth)})"

    def asked_version(self, depth: int) -> str:
        kind = self.pick(["quantity", "semver"])
        if self.maybe(0.5):
            return f"{self.of(kind, depth)}.compareTo({self.of(kind, depth)}) {self.pick(['<', '==', '>='])} 0"
        if self.maybe(0.2):
            return f"{self.quantity(depth)}.isInteger()"
        if self.maybe(0.2):
            return self.pick([f"isQuantity({self.of('string', depth)})", f"isSemver({self.of('string', depth)}, true)"])
        return f"{self.of(kind, depth)}.{self.pick(['isGreaterThan', 'isLessThan'])}({self.of(kind, depth)})"

    def quantified(self, depth: int) -> str:
        if self.maybe(0.25):
            return self.over_map(depth)
        kind, over = self.pick([("int", "list"), ("string", "texts")])
        within = self.of(over, depth)
        if self.maybe(0.2):
            place = self.new("int")
            name, said = self.macro(lambda: self.of("bool", depth), kind)
            self.variables.remove((place, "int"))
            return f"{within}.{self.pick(['all', 'exists', 'existsOne'])}({place}, {name}, {said})"
        name, said = self.macro(lambda: self.of("bool", depth), kind)
        if self.maybe(0.15):
            return f"sets.{self.pick(['contains', 'intersects', 'equivalent'])}({within}, {self.of(over, depth)})"
        return f"{within}.{self.pick(['all', 'exists', 'exists_one'])}({name}, {said})"

    def over_map(self, depth: int) -> str:
        """Over a map of one entry: the order of more is left to chance."""
        key, value = self.new("string"), self.new("int")
        said = self.of("bool", depth)
        self.variables = [kept for kept in self.variables if kept[0] not in (key, value)]
        return f'{{"{self.pick(TEXTS)}": {self.whole(depth)}}}.{self.pick(["all", "exists"])}({key}, {value}, {said})'

    def chosen(self, depth: int, kind: str = "bool") -> str:
        return f"({self.of('bool', depth)} ? {self.of(kind, depth)} : {self.of(kind, depth)})"

    def bound(self, depth: int) -> str:
        kind = self.pick(["int", "string", "quantity", "list", "optional", "semver", "bool"])
        value = self.of(kind, depth)
        name, said = self.macro(lambda: self.of("bool", depth), kind)
        return f"cel.bind({name}, {value}, {said})"

    def whole(self, depth: int) -> str:
        found = self.variable("int")
        if found or depth <= 0 or self.maybe(0.1):
            return found or self.pick(["0", "1", "2", "5", "-3", "9223372036854775807", "-9223372036854775808"])
        one, two = depth - 1, depth - 2
        ways: list[Callable[[], str]] = [
            lambda: f"({self.of('int', one)} {self.pick('+-*/%')} {self.of('int', one)})",
            lambda: f"size({self.of(self.pick(['string', 'list', 'texts', 'map']), one)})",
            lambda: f"{self.of(self.pick(['string', 'list', 'texts']), one)}.size()",
            lambda: f"int({self.of(self.pick(['string', 'double', 'uint', 'int']), one)})",
            lambda: f"{self.of('string', one)}.indexOf({self.of('string', one)})",
            lambda: f"{self.of('semver', one)}.{self.pick(['major', 'minor', 'patch'])}()",
            lambda: f"{self.of('list', one)}.{self.pick(['sum', 'max', 'min'])}()",
            lambda: f"{self.of('list', one)}[{self.of('int', two)}]",
            lambda: f"{self.of('quantity', one)}.asInteger()",
            lambda: f"{self.optional(one)}.orValue({self.of('int', one)})",
            lambda: f"-({self.of('int', one)})",
            lambda: self.chosen(one, "int"),
        ]
        return self.pick(ways)()

    def unsigned(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.5):
            return self.pick(["0u", "1u", "5u", "18446744073709551615u"])
        if self.maybe(0.5):
            return f"uint({self.of(self.pick(['int', 'double', 'string']), depth - 1)})"
        return f"({self.unsigned(depth - 1)} {self.pick('+-*/%')} {self.unsigned(depth - 1)})"

    def floating(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.5):
            return self.pick(["0.0", "1.0", "2.5", "-3.0", "1e19", "9223372036854775807.0", ".5", "(1.0 / 0.0)"])
        ways: list[Callable[[], str]] = [
            lambda: f"double({self.of(self.pick(['int', 'string', 'uint']), depth - 1)})",
            lambda: f"({self.floating(depth - 1)} {self.pick('+-*/')} {self.floating(depth - 1)})",
            lambda: f"{self.of('quantity', depth - 1)}.asApproximateFloat()",
        ]
        return self.pick(ways)()

    def string(self, depth: int) -> str:
        found = self.variable("string")
        if found or depth <= 0 or self.maybe(0.1):
            return found or self.pick([f'"{self.pick(TEXTS)}"', "device.driver"])
        one, two = depth - 1, depth - 2
        ways: list[Callable[[], str]] = [
            lambda: f"({self.of('string', one)} + {self.of('string', one)})",
            lambda: f"string({self.of(self.pick(['int', 'bool', 'double', 'uint', 'string']), one)})",
            lambda: f"{self.of('string', one)}.{self.pick(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f'{self.of("string", one)}.replace("{self.pick(TEXTS)}", {self.of("string", two)})',
            lambda: f"{self.of('string', one)}.substring({self.of('int', two)})",
            lambda: f"{self.of('string', one)}.charAt({self.of('int', two)})",
            lambda: f'{self.of("string", one)}.find("{self.pick(PATTERNS)}")',
            lambda: f'{self.of("texts", one)}.join("{self.pick(TEXTS)}")',
            lambda: f"{self.of('texts', one)}[{self.of('int', two)}]",
            lambda: f"{self.optional(one)}.orValue({self.of('string', one)})",
        ]
        return self.pick(ways)()

    def numbers(self, depth: int) -> str:
        found = self.variable("list")
        if found or depth <= 0 or self.maybe(0.1):
            return found or self.pick(["[1, 2, 5]", "[0]", "[]", "[5, -3, 5]", "lists.range(3)"])
        one = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f"[{', '.join(self.whole(one) for _ in range(self.random.randint(1, 3)))}]",
            lambda: f"[{self.attribute()}, {self.attribute()}]",
            lambda: f"({self.of('list', one)} + {self.of('list', one)})",
            lambda: f"{self.of('list', one)}.{self.pick(['sort', 'reverse', 'distinct'])}()",
            lambda: f"{self.of('list', one)}.slice({self.of('int', 0)}, {self.of('int', 0)})",
            lambda: self.collected(one, self.pick(["map", "sortBy"]), self.pick(["int", "bool"])),
            lambda: self.collected(one, "filter", "bool"),
            lambda: self.collected(one, "map", "bool", self.pick(["1", self.attribute()])),
        ]
        return self.pick(ways)()

    def collected(self, depth: int, macro: str, kind: str, last: str = "") -> str:
        """A macro that makes a list of a list of ints."""
        within = self.of("list", depth)
        name, said = self.macro(lambda: self.of(kind, depth))
        return f"{within}.{macro}({name}, {said}{f', {name} + {last}' if last else ''})"

    def texts(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.3):
            return self.pick(['["a100", "h100"]', '["a"]', '["", "x"]'])
        one = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f'{self.of("string", one)}.split("{self.pick(["", "-", "1", "."])}")',
            lambda: f'{self.of("string", one)}.findAll("{self.pick(PATTERNS)}")',
            lambda: f"[{self.of('string', one)}, {self.string(one)}]",
            lambda: self.texts_of(one),
        ]
        return self.pick(ways)()

    def texts_of(self, depth: int) -> str:
        within = self.texts(depth)
        name, said = self.macro(lambda: self.of("string", depth), "string")
        return f"{within}.map({name}, {said})"

    def quantity(self, depth: int) -> str:
        found = self.variable("quantity")
        if found or (depth <= 0 and self.maybe(0.5)):
            return found or f'quantity("{self.pick(QUANTITIES if self.maybe(0.95) else BROKEN_QUANTITIES)}")'
        if depth <= 0 or self.maybe(0.5):
            return self.capacity()
        one = depth - 1
        ways: list[Callable[[], str]] = [
            lambda: f"{self.of('quantity', one)}.{self.pick(['add', 'sub'])}({self.of('quantity', one)})",
            lambda: f"{self.of('quantity', one)}.{self.pick(['add', 'sub'])}({self.of('int', one)})",
            lambda: f"quantity({self.of('string', one)})",
            lambda: f'device.capacity["{self.domain()}"].?{self.pick(AMOUNTS)}.orValue({self.quantity(one)})',
        ]
        return self.pick(ways)()

    def semver(self, depth: int) -> str:
        found = self.variable("semver")
        if found or depth <= 0 or self.maybe(0.4):
            return found or f'semver("{self.pick(VERSIONS if self.maybe(0.93) else BROKEN_VERSIONS)}")'
        ways: list[Callable[[], str]] = [
            lambda: f'semver("{self.pick(BROKEN_VERSIONS)}", true)',
            lambda: f"semver({self.of('string', depth - 1)}, {self.of('bool', 0)})",
            lambda: f"semver({self.of('string', depth - 1)})",
            self.attribute,
        ]
        return self.pick(ways)()

    def mapping(self, depth: int) -> str:
        if depth <= 0 or self.maybe(0.3):
            return self.pick(['{"a": 1}', '{"model": 1, "a": 2}', f'device.attributes["{self.domain()}"]', "{}"])
        if self.maybe(0.5):
            return f"{{{self.of('string', depth - 1)}: {self.of('int', depth - 1)}}}"
        within = self.numbers(depth - 1)
        name, said = self.macro(lambda: self.of("int", depth - 1))
        return f"{within}.transformMap({self.pick(['i', 'k'])}, {name}, {said})"

    def optional(self, depth: int) -> str:
        found = self.variable("optional")
        if found:
            return found
        base = f'device.attributes["{self.domain()}"]'
        if depth <= 0 or self.maybe(0.5):
            ways = [f"{base}.?{self.pick(NAMES)}", f'device.attributes[?"{self.domain()}"].?{self.pick(NAMES)}']
            return str(self.pick([*ways, f'device.capacity["{self.domain()}"].?{self.pick(AMOUNTS)}']))
        return self.made_optional(depth - 1)

    def made_optional(self, depth: int) -> str:
        kind = self.pick(["int", "string", "quantity"])
        ways: list[Callable[[], str]] = [
            lambda: f"optional.{self.pick(['of', 'ofNonZeroValue'])}({self.of(kind, depth)})",
            lambda: "optional.none()",
            lambda: f"{self.of('list', depth)}[?{self.of('int', depth - 1)}]",
            lambda: f"{self.of('list', depth)}.{self.pick(['first', 'last'])}()",
            lambda: f"{self.optional(depth)}.or({self.optional(depth)})",
            lambda: self.opened(depth),
        ]
        return self.pick(ways)()

    def opened(self, depth: int) -> str:
        within, (name, said) = self.optional(depth), self.macro(lambda: self.of("int", depth))
        if self.maybe(0.3):
            return f"{within}.optFlatMap({name}, optional.of({said}))"
        return f"{within}.optMap({name}, {said})"
