"""Texts that the sources store, as literals: steps, titles and errors of jobs, and notes of omissions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REFUSALS = {"ApplicationError", "Unprocessable", "Conflict", "NotFound", "Unavailable", "Lost"}
PLACEHOLDER = "7"  # stands in a sample for a name, or a number


def sampled(path: Path, *, calls: set[str], place: int = 0, keyword: str = "") -> Iterator[str]:
    """A sample of each text that ``path`` gives to one of ``calls``, as the argument at ``place`` or by ``keyword``."""
    for scope in _scopes(path, calls):
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and _name(node.func) in calls:
                arguments = [passed.value for passed in node.keywords if passed.arg == keyword]
                for argument in arguments if keyword else node.args[place : place + 1]:
                    yield from _texts(argument, scope)


def yielded(path: Path, *, function: str) -> Iterator[str]:
    """A sample of each text that ``function`` yields, alone or as the last part of a tuple."""
    for scope in _scopes(path, {function}):
        for node in ast.walk(scope) if scope.name == function else ():
            if isinstance(node, ast.Yield) and node.value is not None:
                yield from _texts(node.value.elts[-1] if isinstance(node.value, ast.Tuple) else node.value, scope)


def refusals(path: Path, *, parameter_names: set[str]) -> Iterator[str]:
    """A sample of each error that ``path`` raises where a function has one of these parameters or is about a job."""
    for scope in _scopes(path, REFUSALS):
        parameters = {parameter.arg for parameter in (*scope.args.args, *scope.args.kwonlyargs)} & parameter_names
        if not parameters and path.name != "tasks.py" and not scope.name.endswith("_of_job"):
            continue
        for node in ast.walk(scope):
            raised = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(raised, ast.Call) and _name(raised.func) in REFUSALS and raised.args:
                yield from _texts(raised.args[0], scope)


def _scopes(path: Path, words: set[str]) -> list[ast.FunctionDef]:
    """The functions of a module that has any of ``words``."""
    source = path.read_text()
    if not any(f"{word}(" in source for word in words):
        return []
    return [node for node in ast.walk(_tree(source)) if isinstance(node, ast.FunctionDef)]


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _texts(node: ast.expr, scope: ast.FunctionDef) -> Iterator[str]:
    """Samples of ``node``; a name is looked up among the assignments of its function."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts) if any(isinstance(part, ast.Constant) for part in parts):
            yield "".join(_piece(part) for part in parts)
        case ast.IfExp(body=first, orelse=second):
            yield from (*_texts(first, scope), *_texts(second, scope))
        case ast.BoolOp(values=values):
            for value in values:
                yield from _texts(value, scope)
        case ast.Subscript(value=of):
            yield from _texts(of, scope)
        case ast.Name(id=name):
            for assigned in _assigned(name, scope):
                yield from _texts(assigned, scope)


def _assigned(name: str, scope: ast.FunctionDef) -> Iterator[ast.expr]:
    for statement in ast.walk(scope):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.JoinedStr | ast.IfExp):
            if any(_name(target) == name for target in statement.targets):
                yield statement.value
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
            for target in statement.targets:
                if isinstance(target, ast.Tuple):
                    pairs = zip(target.elts, statement.value.elts, strict=True)
                    yield from (value for at, value in pairs if _name(at) == name)


def _piece(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else PLACEHOLDER
