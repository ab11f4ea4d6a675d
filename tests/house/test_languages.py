"""The catalogues hold what the sources mark, whole, and no page of what is translated has words that nobody marked."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from kschedweb import catalogues
from tests.conftest import ROOT
from tests.support.unmarked import bare_texts

TEMPLATES = ROOT / "frontend" / "templates"
# The rooms of templates whose every word is marked; docs/languages.md says the same.
TRANSLATED_TEMPLATES = (
    "account", "accounts", "advice", "base.html", "clusters", "dashboard", "decisions", "fleet", "jobs", "lists",
    "live", "mfa", "parts", "plain.html", "playground", "policies", "revisions", "sandbox", "watermarks",
)  # fmt: skip
# Of kinds of policies that what-if goes by.
ENGLISH_YET = {"policies/descheduler", "policies/karpenter"}
ELSEWHERE = {"reference.html", "reference_fields.html", "reference_try.html"}  # of the REST API, which is in English
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|%%|</?\w+[^>]*>")
NAMED = re.compile(r"%\((\w+)\)")

each_catalogue = pytest.mark.parametrize(
    ("language", "domain"), [(language, domain) for language in catalogues.LANGUAGES for domain in catalogues.DOMAINS]
)


def list_templates() -> list[Path]:
    translated_paths = [TEMPLATES / name for name in TRANSLATED_TEMPLATES]
    return [
        path
        for path_translated in translated_paths
        for path in (sorted(path_translated.rglob("*.html")) if path_translated.is_dir() else [path_translated])
    ]


@each_catalogue
def test_a_catalogue_holds_what_the_sources_mark_and_nothing_else(language: str, domain: str) -> None:
    marked_messages = {
        message if isinstance(message, str) else message[0] for message in catalogues.collect_messages(domain)
    }
    catalogue_messages = {
        message.id if isinstance(message.id, str) else message.id[0]
        for message in catalogues.read_catalogue(language, domain)
        if message.id
    }
    assert (sorted(marked_messages - catalogue_messages), sorted(catalogue_messages - marked_messages)) == ([], []), (
        "make messages"
    )


@each_catalogue
def test_every_message_is_translated_with_the_placeholders_that_it_has(language: str, domain: str) -> None:
    wrong_messages = []
    for message in catalogues.read_catalogue(language, domain):
        if not message.id:
            continue
        translations = [message.string] if isinstance(message.string, str) else list(message.string or [""])
        source = message.id if isinstance(message.id, str) else message.id[1]
        expected_placeholders = set(PLACEHOLDER.findall(source))
        if (
            message.fuzzy
            or not all(translations)
            or any(set(PLACEHOLDER.findall(translation)) != expected_placeholders for translation in translations)
        ):
            wrong_messages.append(message.id)
    assert wrong_messages == []


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_a_translation_can_be_filled_in(language: str) -> None:
    """A single percent sign beside a placeholder would end the page with an error, in this language alone."""
    filled_messages = 0
    for message in catalogues.read_catalogue(language, "django"):
        translations = [message.string] if isinstance(message.string, str) else list(message.string or ())
        for translation in filter(NAMED.search, translations):
            assert translation % dict.fromkeys(NAMED.findall(translation), 1), message.id
            filled_messages += 1
    assert filled_messages > 1000


JAPANESE = "[\u3040-\u30ff\u4e00-\u9fff、。（）「」：]"
SENTENCE = re.compile(r"^%\(\w+\)s ")  # a sentence that comes first, which may be in English


@pytest.mark.parametrize("domain", catalogues.DOMAINS)
def test_no_blank_stands_between_japanese_and_latin_words(domain: str) -> None:
    blank = re.compile(f"{JAPANESE} [A-Za-z0-9%<]|[A-Za-z0-9>%] {JAPANESE}|\\)s {JAPANESE}")
    translations = [
        message.string if isinstance(message.string, str) else str((message.string or [""])[0])
        for message in catalogues.read_catalogue("ja", domain)
    ]
    assert [text for text in translations if blank.search(SENTENCE.sub("", text))] == []


def test_the_reader_is_addressed_in_one_way() -> None:
    translations = [str(message.string) for message in catalogues.read_catalogue("zh_Hans", "django")]
    assert [text for text in translations if "您" in text or "登出" in text] == []


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
    paths = [path for path in list_templates() if path.name not in ELSEWHERE and path.parent not in english]
    assert len(paths) > 150
    assert [f"{path.relative_to(TEMPLATES)}: {text}" for path in paths for text in bare_texts(path.read_text())] == []


def test_words_that_are_not_marked_are_found() -> None:
    page = (
        '{% if x %}<p>Some words</p>{% endif %}<b title="A title {{ x }}">{{ x }} · <code>kubectl get</code></b>'
        '{% icon "x" "Close" %}{{ x|default:"none" }}{% translate "Marked" %}<i translate="no">Pod</i> CPU'
    )
    assert bare_texts(page) == ["Some words", "A title", "Close", "none"]


FIELD_WORDS = {"label", "empty_label", "help_text"}


def test_no_field_of_a_form_has_words_that_nobody_marked() -> None:
    """Fields of REST are in English; those of forms and filters are on pages."""
    messages = catalogues.read_catalogue("zh_Hans", "django")
    translated = {message.id for message in messages if message.id and message.string not in ("", message.id)}
    bare = [
        f"{path.relative_to(ROOT)}:{keyword.value.lineno}: {keyword.value.value}"
        for path in sorted((ROOT / "kschedweb").rglob("*.py"))
        if path.name in {"forms.py", "filters.py"} or path.stem.endswith("views")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in FIELD_WORDS and isinstance(keyword.value, ast.Constant) and keyword.value.value in translated
    ]
    assert not bare, "\n".join(bare)
