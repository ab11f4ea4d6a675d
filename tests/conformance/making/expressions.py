"""Random CEL expressions about a device, of the right types, as an API server would let them in."""

from __future__ import annotations

from random import Random

DOMAIN = "example.com"
DEVICE = {
    "name": "d0",
    "attributes": {
        f"{DOMAIN}/model": {"string": "A100"},
        f"{DOMAIN}/index": {"int": 3},
        f"{DOMAIN}/ok": {"bool": True},
        f"{DOMAIN}/firmware": {"version": "1.4.2-beta.1"},
        "vendor": {"string": "acme-gpu"},
    },
    "capacity": {f"{DOMAIN}/memory": {"value": "40Gi"}, "cores": {"value": "12"}},
}
DRIVER = "gpu.example.com"


class ExpressionMaker:
    """Makes one expression after the other from ``random``; each ``_kind`` makes one of that type."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def expression(self) -> str:
        return self._bool(self.random.randint(1, 4))

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _attribute(self, name: str) -> str:
        """An attribute; now and then one that is not there, which is an error when it is read."""
        domain = self._pick(DOMAIN, DOMAIN, DOMAIN, DOMAIN, DRIVER, "other.example.com")
        wrong = self.random.random() < 0.08
        return f'device.attributes["{domain}"].{"missing" if wrong else name}'

    def _bool(self, depth: int) -> str:
        if depth <= 0:
            return self._pick("true", "false", self._attribute("ok"), f'device.driver == "{DRIVER}"')
        one, other = self.random.choice(self.BOOLS), depth - 1
        return one(self, other)

    def _string(self, depth: int) -> str:
        plain = [
            self._attribute("model"),
            "device.driver",
            '"A100"',
            '"a"',
            '""',
            f'device.attributes["{DRIVER}"].vendor',
        ]
        if depth <= 0:
            return self._pick(*plain)
        inner = self._string(depth - 1)
        made = [
            f"{inner}.lowerAscii()",
            f"{inner}.upperAscii()",
            f"{inner}.trim()",
            f'{inner}.replace("A", "b")',
            f"({inner} + {self._string(0)})",
            f"{inner}.substring({self._pick('0', '1', '2')})",
            f"string({self._int(0)})",
            f'(["x", "{self._pick("a", "B")}"].join("-") + {inner})',
        ]
        return self._pick(*plain, *made)

    def _int(self, depth: int) -> str:
        plain = [self._attribute("index"), "0", "3", "-1", "9223372036854775807"]
        if depth <= 0:
            return self._pick(*plain)
        one, two = self._int(depth - 1), self._int(0)
        made = [
            f"({one} + {two})",
            f"({one} * {two})",
            f"({one} / {two})",
            f"({one} % {two})",
            f"({one} - {two})",
            f"size({self._string(0)})",
            f"{self._string(0)}.indexOf({self._string(0)})",
            f"size({self._list(depth - 1)})",
            f"{self._version()}.major()",
        ]
        return self._pick(*plain, *made)

    def _list(self, depth: int) -> str:
        # A list is of one type: what a device says is of any type until it is read.
        item = self._pick("literal", "literal", "attribute")
        made = range(self.random.randint(0, 3))
        items = ", ".join(self._attribute("index") if item == "attribute" else self._pick("0", "2", "-1") for _ in made)
        plain = f"[{items}]"
        return self._pick(plain, f"{plain}.map(x, x + 1)", f"{plain}.filter(x, x > 1)") if items else "[1, 2]"

    def _quantity(self) -> str:
        return self._pick(
            f'device.capacity["{DOMAIN}"].memory',
            f'device.capacity["{DRIVER}"].cores',
            'quantity("10Gi")',
            'quantity("40Gi")',
            'quantity("1500m")',
            'quantity("-3k")',
            f'device.capacity["{DOMAIN}"].missing',
        )

    def _version(self) -> str:
        return self._pick(
            self._attribute("firmware"), 'semver("1.4.2")', 'semver("2.0.0-rc.1")', 'semver("v1.4", true)'
        )

    def _compared(self, depth: int) -> str:
        of, sign = self.random.choice((self._int, self._string)), self._pick("==", "!=", "<", "<=", ">", ">=")
        return f"{of(depth)} {sign} {of(depth)}"

    def _logic(self, depth: int) -> str:
        one, two = self._bool(depth), self._bool(depth)
        return self._pick(f"({one} && {two})", f"({one} || {two})", f"!({one})", f"({one} ? {two} : {self._bool(0)})")

    def _amounts(self, depth: int) -> str:
        one, two = self._quantity(), self._quantity()
        return self._pick(
            f"{one}.compareTo({two}) >= 0",
            f"{one}.isGreaterThan({two})",
            f"{one}.isLessThan({two})",
            f"{one}.add({two}).compareTo({two}) > 0",
            f"{one}.sub({self._pick('1', '-3')}).compareTo({two}) < 0",
            f"{one} == {two}",
            f"{one}.isInteger()",
            f'isQuantity("{self._pick("10Gi", "x", "1.5")}")',
        )

    def _versions(self, depth: int) -> str:
        one, two = self._version(), self._version()
        return self._pick(
            f"{one}.compareTo({two}) <= 0",
            f"{one}.isGreaterThan({two})",
            f"{one} == {two}",
            f'isSemver("{self._pick("1.0.0", "1.0", "v1.0.0")}")',
        )

    def _texts(self, depth: int) -> str:
        one = self._string(depth)
        return self._pick(
            f"{one}.startsWith({self._string(0)})",
            f"{one}.contains({self._string(0)})",
            f'{one}.matches("{self._pick("^A", "[0-9]+$", "a.*b?", "(?i)gpu")}")',
            f'{one} in ["A100", "{self._pick("a", "gpu.example.com")}"]',
        )

    def _collections(self, depth: int) -> str:
        listed = self._list(depth)
        return self._pick(
            f"{listed}.all(x, x > {self._int(0)})",
            f"{listed}.exists(x, x == {self._int(0)})",
            f"{listed}.exists_one(x, x > 1)",
            f"{self._int(0)} in {listed}",
            f'"{self._pick("model", "index", "nope")}" in device.attributes["{DOMAIN}"]',
            f'has(device.attributes["{DOMAIN}"].{self._pick("model", "nope")})',
            f'device.attributes["{DOMAIN}"].?{self._pick("model", "nope")}.orValue("none") == {self._string(0)}',
            f'device.attributes[?"{self._pick(DOMAIN, "nope.example.com")}"].hasValue()',
            f'"{self._pick(DOMAIN, DRIVER)}" in device.capacity',
            f"cel.bind(y, {self._int(0)}, y > 1 && y < {self._int(0)})",
        )

    BOOLS = (_compared, _compared, _logic, _logic, _amounts, _versions, _texts, _collections)
