"""The catalogues of the languages: what the sources mark, in kschedweb/locale, and their compiled form.

    python -m kschedweb.catalogues refresh    brings the catalogues up to date with the sources
    python -m kschedweb.catalogues compile    makes the files that Django reads

Neither needs the programs of GNU gettext. A message that is new has an empty translation until somebody writes one;
one that no source marks any more is dropped.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import yaml
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from kschedweb.engine.studies.measure.registry import list_family_messages, list_messages

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "kschedweb"
LOCALE: Final = PACKAGE / "locale"
TEMPLATES: Final = ROOT / "frontend" / "templates"
SCRIPTS: Final = ROOT / "frontend" / "src"
READY: Final = PACKAGE / "playground" / "scenarios" / "ready"
MEASURES: Final = PACKAGE / "engine" / "studies" / "measure" / "registry.py"  # its labels and sentences
LANGUAGES: Final = ("zh_Hans", "ja")
DOMAINS: Final = ("django", "djangojs")
CREATION_DATE: Final = datetime(2026, 11, 24, tzinfo=UTC)
SINGULAR: Final = frozenset({"gettext", "gettext_lazy", "gettext_noop", "_"})
PLURAL: Final = frozenset({"ngettext", "ngettext_lazy", "ngettext_noop"})
# What Django makes of a template, and what scripts call.
_IN_TEMPLATES: Final = re.compile(r"""(?<!\w)(?:n?gettext|_)\((?=\s*u?["'])""")
_STRING: Final = re.compile(r"""\s*u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(,?)""", re.DOTALL)
_IN_SCRIPTS: Final = re.compile(r"""(?<![\w.])translate(?:Count)?\((?=\s*["'])""")
_LITERAL: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(,?)""", re.DOTALL)

Message = str | tuple[str, str]  # with its plural, where it has one


def collect_messages(domain: str) -> dict[Message, list[str]]:
    """Every message that the sources of ``domain`` mark, with the files that have it."""
    places_by_message: dict[Message, list[str]] = {}
    for path, messages in _in_files(domain):
        for message in messages:
            places = places_by_message.setdefault(message, [])
            if path not in places:
                places.append(path)
    return places_by_message


def _in_files(domain: str) -> Iterator[tuple[str, Iterator[Message]]]:
    if domain == "djangojs":
        for path in sorted(SCRIPTS.rglob("*.ts")):
            texts = _called_texts(path.read_text(), _IN_SCRIPTS, _LITERAL, plural="translateCount")
            yield str(path.relative_to(ROOT)), texts
        return
    for path in sorted(TEMPLATES.rglob("*.html")):
        yield str(path.relative_to(ROOT)), in_template(path.read_text())
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(ROOT)), in_module(path.read_text())
    for path in sorted(READY.glob("*.yaml")):
        yield str(path.relative_to(ROOT)), in_ready(path.read_text(encoding="utf-8"))
    yield str(MEASURES.relative_to(ROOT)), iter((*list_messages(), *list_family_messages()))


def in_template(source: str) -> Iterator[Message]:
    """Yield the texts that a template marks, by Django's own reading of it."""
    yield from _called_texts(templatize(source), _IN_TEMPLATES, _STRING, plural="ngettext")


def in_module(source: str) -> Iterator[Message]:
    """Yield the texts that a module of Python marks."""
    if "gettext" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        texts = [
            argument.value
            for argument in node.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        if name in SINGULAR and texts:
            yield texts[0]
        elif name in PLURAL and len(texts) > 1:
            yield texts[0], texts[1]


def in_ready(source: str) -> Iterator[Message]:
    """Yield the texts of a ready scenario that its page shows."""
    introduction, scenario = yaml.safe_load_all(source)
    yield from (scenario["name"], scenario["description"], introduction["source"], introduction["sentence"])
    yield from (*introduction["story"], *introduction.get("tries", ()))


def _called_texts(source: str, call: re.Pattern[str], string: re.Pattern[str], *, plural: str) -> Iterator[Message]:
    for match in call.finditer(source):
        first = string.match(source, match.end())
        assert first is not None
        text = ast.literal_eval(first[1])
        if match[0] == f"{plural}(" and first[2]:
            second = string.match(source, first.end())
            assert second is not None
            yield text, ast.literal_eval(second[1])
        else:
            yield text


def path_of(language: str, domain: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{domain}.po"


def read_catalogue(language: str, domain: str) -> Catalog:
    """A catalogue as it is, empty where there is none yet."""
    path = path_of(language, domain)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def refresh_all() -> None:
    """Write every catalogue anew: the messages of the sources, with the translations that it has."""
    for domain in DOMAINS:
        messages = collect_messages(domain)
        for language in LANGUAGES:
            old = read_catalogue(language, domain)
            # No time of its own: a catalogue differs only where its messages do.
            new = Catalog(locale=language, fuzzy=False, creation_date=CREATION_DATE, revision_date=CREATION_DATE)
            new.header_comment = f"# The words of kschedweb ({domain}): see docs/languages.md."
            for message, places in sorted(messages.items(), key=lambda entry: (entry[1][0], str(entry[0]))):
                key = message if isinstance(message, str) else message[0]
                previous = old.get(key)
                new.add(message, previous.string if previous else None, locations=[(place, 0) for place in places])
            with path_of(language, domain).open("wb") as file:
                write_po(file, new, width=118, omit_header=False)


def compile_all() -> None:
    """Write the file that Django reads beside each catalogue that is newer than it."""
    for language in LANGUAGES:
        for domain in DOMAINS:
            source = path_of(language, domain)
            target = source.with_suffix(".mo")
            if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
                continue
            # Another process may read it, or write it, at the same time.
            begun = target.with_suffix(f".{id(source):x}.part")
            with begun.open("wb") as file:
                write_mo(file, read_catalogue(language, domain))
            begun.replace(target)


if __name__ == "__main__":
    {"refresh": refresh_all, "compile": compile_all}[sys.argv[1]]()
