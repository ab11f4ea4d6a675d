"""Parser: from the text of an expression to its syntax tree."""

from __future__ import annotations

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.lexer import Token, apply_sign, tokenize
from kschedweb.engine.cel.macros import expand_macro
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
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
)

# Bytes, as in the API server's validation of selectors.
MAX_LENGTH = 10 * 1024
# Expressions nested in expressions; more would need a deeper stack than Python's.
MAX_DEPTH = 40
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    )
)
# Precedence of the binary operators.
_LEVELS = dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 0) | {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


def parse_expression(expression: str) -> Node:
    """Return the syntax tree of ``expression`` with macros expanded; raise ExpressionError without its text."""
    if len(expression.encode("utf-8", "replace")) > MAX_LENGTH:
        raise ExpressionError(f"it is longer than {MAX_LENGTH} bytes")
    parser = _ExpressionParser(tokenize(expression))
    node = parser.parse_expr()
    if parser.token.kind != "end":
        raise parser.unexpected_token()
    return node


class _ExpressionParser:
    """A recursive-descent parser of CEL's grammar, one method for each rule."""

    def __init__(self, words: list[Token]) -> None:
        self.words, self.at, self.depth = words, 0, 0
        self.token = words[0]

    def unexpected_token(self) -> ExpressionError:
        return ExpressionError(f"{self.token.text} is unexpected there")

    def advance(self) -> Token:
        token = self.token
        self.at += 1
        self.token = self.words[min(self.at, len(self.words) - 1)]
        return token

    def accept_sign(self, sign: str) -> bool:
        if self.token.kind == "sign" and self.token.text == sign:
            self.advance()
            return True
        return False

    def expect_sign(self, sign: str) -> None:
        if not self.accept_sign(sign):
            raise ExpressionError(f"{sign} is expected before {self.token.text}")

    def parse_expr(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"it has more than {MAX_DEPTH} expressions within expressions")
        condition = self.parse_or()
        if self.accept_sign("?"):
            accepted = self.parse_or()
            self.expect_sign(":")
            condition = Call(CONDITIONAL, [condition, accepted, self.parse_expr()])
        self.depth -= 1
        return condition

    def parse_or(self) -> Node:
        terms = [self.parse_and()]
        while self.accept_sign("||"):
            terms.append(self.parse_and())
        return terms[0] if len(terms) == 1 else Call(OR, terms)

    def parse_and(self) -> Node:
        terms = [self.parse_binary(0)]
        while self.accept_sign("&&"):
            terms.append(self.parse_binary(0))
        return terms[0] if len(terms) == 1 else Call(AND, terms)

    def parse_binary(self, level: int) -> Node:
        """Parse operators of this level and those that bind closer, from left to right."""
        lhs = self.parse_unary()
        while self.token.kind == "sign" and _LEVELS.get(self.token.text, -1) >= level:
            sign = self.advance().text
            lhs = Call(BINARY[sign], [lhs, self.parse_binary(_LEVELS[sign] + 1)])
        return lhs

    def parse_unary(self) -> Node:
        for sign, function in (("!", NOT), ("-", NEGATE)):
            count = 0
            while self.token.kind == "sign" and self.token.text == sign and not self.is_signed_number(count):
                self.advance()
                count += 1
            if count:
                # cel-go's parser drops pairs of signs.
                operand = self.parse_member()
                return Call(function, [operand]) if count % 2 else operand
        return self.parse_member()

    def is_signed_number(self, before: int) -> bool:
        """Return True at a minus that belongs to the number after it, given ``before`` other ones."""
        return before == 0 and self.token.text == "-" and self.words[self.at + 1].kind in ("int", "float")

    def parse_member(self) -> Node:
        node = self.parse_primary()
        while self.token.kind == "sign" and self.token.text in (".", "["):
            node = self.parse_index(node) if self.accept_sign("[") else self.parse_select(node)
        return node

    def parse_index(self, node: Node) -> Node:
        function = OPTIONAL_INDEX if self.accept_sign("?") else INDEX
        index = self.parse_expr()
        self.expect_sign("]")
        return Call(function, [node, index])

    def parse_select(self, node: Node) -> Node:
        self.expect_sign(".")
        optional = self.accept_sign("?")
        name = self.name()
        if optional:
            return Call(OPTIONAL_SELECT, [node, Literal(name)])
        if self.accept_sign("("):
            call = Call(name, self.parse_arguments(), node)
            return expand_macro(call) or call
        return Select(node, name)

    def name(self) -> str:
        if self.token.kind != "name":
            raise self.unexpected_token()
        return self.advance().text

    def parse_arguments(self) -> list[Node]:
        arguments: list[Node] = []
        if self.accept_sign(")"):
            return arguments
        while True:
            arguments.append(self.parse_expr())
            if self.accept_sign(")"):
                return arguments
            self.expect_sign(",")

    def parse_primary(self) -> Node:
        if self.token.kind == "literal":
            return Literal(self.advance().value)
        if self.token.kind in ("int", "float") or self.is_signed_number(0):
            return self.number()
        if self.accept_sign("("):
            node = self.parse_expr()
            self.expect_sign(")")
            return node
        if self.accept_sign("["):
            return self.parse_list()
        if self.accept_sign("{"):
            return self.parse_map()
        return self.parse_ident(rooted=self.accept_sign("."))

    def number(self) -> Node:
        negative = self.accept_sign("-")
        token = self.advance()
        if token.kind == "float":
            return Literal(-token.value if negative else token.value)
        return Literal(apply_sign(token.text, token.value, negative=negative))

    def parse_ident(self, *, rooted: bool) -> Node:
        """Parse an identifier or call; a ``rooted`` one follows a leading dot and cannot be a macro."""
        name = self.name()
        if name in _RESERVED:
            raise ExpressionError(f"{name} is a reserved word")
        if self.accept_sign("("):
            call = Call(name, self.parse_arguments())
            return (None if rooted else expand_macro(call)) or call
        if self.token.text == "{":
            raise ExpressionError(f"{name}{{…}}: messages cannot be made here")
        return Ident(name, rooted)

    def parse_list(self) -> Node:
        elements: list[Node] = []
        optional = set()
        # CEL's grammar allows a lone comma in an empty list or map.
        alone = self.accept_sign(",")
        while not self.accept_sign("]"):
            if alone:
                raise self.unexpected_token()
            if self.accept_sign("?"):
                optional.add(len(elements))
            elements.append(self.parse_expr())
            if not self.accept_sign(","):
                self.expect_sign("]")
                break
        return ListExpr(elements, frozenset(optional))

    def parse_map(self) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        alone = self.accept_sign(",")
        while not self.accept_sign("}"):
            if alone:
                raise self.unexpected_token()
            optional = self.accept_sign("?")
            key = self.parse_expr()
            self.expect_sign(":")
            entries.append((key, self.parse_expr(), optional))
            if not self.accept_sign(","):
                self.expect_sign("}")
                break
        return MapExpr(entries)
