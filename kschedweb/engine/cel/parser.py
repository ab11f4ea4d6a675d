"""From the text of an expression to its parts."""

from __future__ import annotations

from kschedweb.engine.cel.errors import Refused
from kschedweb.engine.cel.lexer import Token, signed, tokens
from kschedweb.engine.cel.macros import expanded
from kschedweb.engine.cel.syntax import (
    AND,
    BINARY,
    CONDITIONAL,
    INDEX,
    NEGATE,
    NOT,
    OPTIONAL_INDEX,
    OPTIONAL_SELECT,
    OR,
    Call,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
)

MAX_LENGTH = 10 * 1024  # bytes; the API server takes no longer selector
MAX_DEPTH = 40  # of expressions within expressions; more would need a deeper stack than Python's
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    )
)
# How closely an operator binds.
_LEVELS = dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 0) | {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


def parse(expression: str) -> Node:
    """The parts of ``expression``, its macros expanded; raises Refused without the expression's name."""
    if len(expression.encode("utf-8", "replace")) > MAX_LENGTH:
        raise Refused(f"it is longer than {MAX_LENGTH} bytes")
    parser = _Parser(tokens(expression))
    node = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected()
    return node


class _Parser:
    def __init__(self, words: list[Token]) -> None:
        self.words, self.at, self.depth = words, 0, 0
        self.token = words[0]

    def unexpected(self) -> Refused:
        return Refused(f"{self.token.text} is unexpected there")

    def advance(self) -> Token:
        token = self.token
        self.at += 1
        self.token = self.words[min(self.at, len(self.words) - 1)]
        return token

    def takes(self, sign: str) -> bool:
        if self.token.kind == "sign" and self.token.text == sign:
            self.advance()
            return True
        return False

    def expects(self, sign: str) -> None:
        if not self.takes(sign):
            raise Refused(f"{sign} is expected before {self.token.text}")

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused(f"it has more than {MAX_DEPTH} expressions within expressions")
        condition = self.either()
        if self.takes("?"):
            accepted = self.either()
            self.expects(":")
            condition = Call(CONDITIONAL, [condition, accepted, self.expression()])
        self.depth -= 1
        return condition

    def either(self) -> Node:
        terms = [self.both()]
        while self.takes("||"):
            terms.append(self.both())
        return terms[0] if len(terms) == 1 else Call(OR, terms)

    def both(self) -> Node:
        terms = [self.binary(0)]
        while self.takes("&&"):
            terms.append(self.binary(0))
        return terms[0] if len(terms) == 1 else Call(AND, terms)

    def binary(self, level: int) -> Node:
        """Operators of this level and those that bind closer, from left to right."""
        left = self.unary()
        while self.token.kind == "sign" and _LEVELS.get(self.token.text, -1) >= level:
            sign = self.advance().text
            left = Call(BINARY[sign], [left, self.binary(_LEVELS[sign] + 1)])
        return left

    def unary(self) -> Node:
        for sign, function in (("!", NOT), ("-", NEGATE)):
            count = 0
            while self.token.kind == "sign" and self.token.text == sign and not self.is_signed_number(count):
                self.advance()
                count += 1
            if count:
                operand = self.member()
                return Call(function, [operand]) if count % 2 else operand
        return self.member()

    def is_signed_number(self, before: int) -> bool:
        """Whether here stands a minus that belongs to the number after it."""
        return before == 0 and self.token.text == "-" and self.words[self.at + 1].kind in ("int", "float")

    def member(self) -> Node:
        node = self.primary()
        while self.token.kind == "sign" and self.token.text in (".", "["):
            node = self.indexed(node) if self.takes("[") else self.selected(node)
        return node

    def indexed(self, node: Node) -> Node:
        function = OPTIONAL_INDEX if self.takes("?") else INDEX
        index = self.expression()
        self.expects("]")
        return Call(function, [node, index])

    def selected(self, node: Node) -> Node:
        self.expects(".")
        optional = self.takes("?")
        name = self.name()
        if optional:
            return Call(OPTIONAL_SELECT, [node, Literal(name)])
        if self.takes("("):
            call = Call(name, self.arguments(), node)
            return expanded(call) or call
        return Select(node, name)

    def name(self) -> str:
        if self.token.kind != "name":
            raise self.unexpected()
        return self.advance().text

    def arguments(self) -> list[Node]:
        found: list[Node] = []
        if self.takes(")"):
            return found
        while True:
            found.append(self.expression())
            if self.takes(")"):
                return found
            self.expects(",")

    def primary(self) -> Node:
        if self.token.kind == "literal":
            return Literal(self.advance().value)
        if self.token.kind in ("int", "float") or self.is_signed_number(0):
            return self.number()
        if self.takes("("):
            node = self.expression()
            self.expects(")")
            return node
        if self.takes("["):
            return self.list_of()
        if self.takes("{"):
            return self.map_of()
        return self.named(rooted=self.takes("."))

    def number(self) -> Node:
        negative = self.takes("-")
        token = self.advance()
        if token.kind == "float":
            return Literal(-token.value if negative else token.value)
        return Literal(signed(token.text, token.value, negative=negative))

    def named(self, *, rooted: bool) -> Node:
        """A name; ``rooted``: after a dot, where no macro can stand."""
        name = self.name()
        if name in _RESERVED:
            raise Refused(f"{name} is a reserved word")
        if self.takes("("):
            call = Call(name, self.arguments())
            return (None if rooted else expanded(call)) or call
        if self.token.text == "{":
            raise Refused(f"{name}{{…}}: messages cannot be made here")
        return Ident(name, rooted)

    def list_of(self) -> Node:
        elements: list[Node] = []
        optional = set()
        alone = self.takes(",")
        while not self.takes("]"):
            if alone:
                raise self.unexpected()
            if self.takes("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            if not self.takes(","):
                self.expects("]")
                break
        return ListOf(elements, frozenset(optional))

    def map_of(self) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        alone = self.takes(",")
        while not self.takes("}"):
            if alone:
                raise self.unexpected()
            optional = self.takes("?")
            key = self.expression()
            self.expects(":")
            entries.append((key, self.expression(), optional))
            if not self.takes(","):
                self.expects("}")
                break
        return MapOf(entries)
