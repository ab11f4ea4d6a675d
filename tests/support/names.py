"""Statistics of names in a tree of Python: filler, functions of one word, classes that share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Participles, prepositions and pronouns, where a noun would say what the thing is.
FILLER = frozenset({
    "about", "again", "apart", "asked", "began", "beside", "came", "done", "each", "every", "felt", "found",
    "given", "gone", "got", "ground", "hands", "held", "here", "kept", "known", "least", "left", "looked",
    "made", "most", "named", "of", "one", "others", "own", "ran", "rest", "said", "sat", "seen", "sent",
    "shown", "sought", "standing", "taken", "that", "their", "there", "these", "things", "this", "those",
    "told", "tried", "until", "wanted", "went", "what", "where", "which", "who", "whom", "whose", "within",
    "without", "worked", "written",
})  # fmt: skip
# Names that Django gives.
FRAMEWORK_CLASSES = frozenset({"Meta", "Command", "Migration"})


@dataclass
class RoomNames:
    """The bound names of one room: a folder of ``kschedweb`` or of ``kschedweb/engine``."""

    names: int = 0
    # "path:name" of each name that is filler
    filler: list[str] = field(default_factory=list)
    functions: int = 0
    one_word_functions: int = 0

    @property
    def filler_share(self) -> float:
        return len(self.filler) / max(1, self.names)


@dataclass
class TreeNames:
    rooms: dict[str, RoomNames]
    # modules by the name of a class in them
    classes: dict[str, set[str]]

    @property
    def filler_share(self) -> float:
        names = sum(room.names for room in self.rooms.values())
        return sum(len(room.filler) for room in self.rooms.values()) / max(1, names)

    @property
    def one_word_share(self) -> float:
        functions = sum(room.functions for room in self.rooms.values())
        return sum(room.one_word_functions for room in self.rooms.values()) / max(1, functions)


def measure_names(root: Path, package: str) -> TreeNames:
    """Measure each room of ``root/package``, without migrations."""
    tree = TreeNames(defaultdict(RoomNames), defaultdict(set))
    for path in sorted((root / package).rglob("*.py")):
        module = path.relative_to(root)
        if "migrations" in module.parts:
            continue
        room = tree.rooms[room_of(module)]
        for kind, name in iterate_bound_names(ast.parse(path.read_text(encoding="utf-8"))):
            bare_name = name.strip("_")
            room.names += 1
            if bare_name.lower() in FILLER:
                room.filler.append(f"{module}:{name}")
            if kind == "function" and not name.startswith("__"):
                room.functions += 1
                room.one_word_functions += "_" not in bare_name
            if kind == "class" and name not in FRAMEWORK_CLASSES:
                tree.classes[name].add(str(module))
    return tree


def room_of(module: Path) -> str:
    folders = module.parts[:-1]
    return "/".join(folders[:3] if "engine" in folders[:2] else folders[:2])


def iterate_bound_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of variables, parameters, functions, classes, and imports under another name."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield "name", name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield "function", name
            case ast.ClassDef(name=name):
                yield "class", name
            case ast.alias(asname=str(name)):
                yield "name", name
