"""The catalogues hold what the sources mark, whole, and no page of what is translated has words that nobody marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kschedweb import catalogues
from tests.conftest import ROOT
from tests.support.unmarked import bare_texts

TEMPLATES = ROOT / "frontend" / "templates"
# The rooms of templates whose every word is marked; docs/languages.md says the same.
TRANSLATED = (
    "accounts/login.html", "accounts/password.html", "accounts/settings.html", "advice/moves", "advice/plans",
    "base.html", "dashboard", "decisions",
    "lists", "live/approvals", "parts", "plain.html", "playground/experiments", "playground/gate",
    "playground/recordings", "playground/runs", "playground/scenarios", "playground/sweeps", "playground/trying",
    "policies", "revisions", "watermarks",
)  # fmt: skip
# Of kinds of policies that what-if goes by.
ENGLISH_YET = {"policies/descheduler", "policies/karpenter"}
ELSEWHERE = {"reference.html", "reference_fields.html", "reference_try.html"}  # of the REST API, which is in English
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|%%|</?\w+[^>]*>")

each = pytest.mark.parametrize(
    ("language", "domain"), [(language, domain) for language in catalogues.LANGUAGES for domain in catalogues.DOMAINS]
)


def templates() -> list[Path]:
    found = [TEMPLATES / name for name in TRANSLATED]
    return [path for one in found for path in (sorted(one.rglob("*.html")) if one.is_dir() else [one])]


@each
def test_a_catalogue_holds_what_the_sources_mark_and_nothing_else(language: str, domain: str) -> None:
    marked = {message if isinstance(message, str) else message[0] for message in catalogues.collect_messages(domain)}
    held = {
        one.id if isinstance(one.id, str) else one.id[0]
        for one in catalogues.read_catalogue(language, domain)
        if one.id
    }
    assert (sorted(marked - held), sorted(held - marked)) == ([], []), "make messages"


@each
def test_every_message_is_translated_with_the_placeholders_that_it_has(language: str, domain: str) -> None:
    wrong = []
    for message in catalogues.read_catalogue(language, domain):
        if not message.id:
            continue
        said = [message.string] if isinstance(message.string, str) else list(message.string or [""])
        meant = message.id if isinstance(message.id, str) else message.id[1]
        wanted = set(PLACEHOLDER.findall(meant))
        if message.fuzzy or not all(said) or any(set(PLACEHOLDER.findall(one)) != wanted for one in said):
            wrong.append(message.id)
    assert wrong == []


JAPANESE = "[\u3040-\u30ff\u4e00-\u9fff、。（）「」：]"
SENTENCE = re.compile(r"^%\(\w+\)s ")  # a sentence that comes first, which may be in English


@pytest.mark.parametrize("domain", catalogues.DOMAINS)
def test_no_blank_stands_between_japanese_and_latin_words(domain: str) -> None:
    blank = re.compile(f"{JAPANESE} [A-Za-z0-9%<]|[A-Za-z0-9>%] {JAPANESE}|\\)s {JAPANESE}")
    said = [
        one.string if isinstance(one.string, str) else str((one.string or [""])[0])
        for one in catalogues.read_catalogue("ja", domain)
    ]
    assert [text for text in said if blank.search(SENTENCE.sub("", text))] == []


def test_the_reader_is_addressed_in_one_way() -> None:
    said = [str(one.string) for one in catalogues.read_catalogue("zh_Hans", "django")]
    assert [text for text in said if "您" in text or "登出" in text] == []


def test_what_is_read_of_sources_is_what_they_mark() -> None:
    page = (
        '{% load i18n %}{% translate "One" %} {% icon "x" _("Two") %}'
        "{% blocktranslate count n=rows with a=b %}{{ n }} row of {{ a }}{% plural %}{{ n }} rows of {{ a }}"
        "{% endblocktranslate %}<b title=\"{% translate 'Three' %}\">"
    )
    rows = ("%(n)s row of %(a)s", "%(n)s rows of %(a)s")
    assert sorted(catalogues.in_template(page), key=str) == sorted(["One", "Two", "Three", rows], key=str)
    module = "from x import gettext as _\n_('One')\nngettext('%(n)s a', '%(n)s b', n)\nother('Two')\n"
    assert list(catalogues.in_module(module + "gettext_lazy = 1")) == ["One", ("%(n)s a", "%(n)s b")]


def test_no_template_of_what_is_translated_has_words_that_are_not_marked() -> None:
    english = [TEMPLATES / room for room in ENGLISH_YET]
    paths = [path for path in templates() if path.name not in ELSEWHERE and path.parent not in english]
    assert len(paths) > 150
    assert [f"{path.relative_to(TEMPLATES)}: {text}" for path in paths for text in bare_texts(path.read_text())] == []


def test_words_that_are_not_marked_are_found() -> None:
    page = (
        '{% if x %}<p>Some words</p>{% endif %}<b title="A title {{ x }}">{{ x }} · <code>kubectl get</code></b>'
        '{% icon "x" "Close" %}{{ x|default:"none" }}{% translate "Marked" %}<i translate="no">Pod</i> CPU'
    )
    assert bare_texts(page) == ["Some words", "A title", "Close", "none"]
