"""Finds the words that a person would read in a template or on a page and that nobody marked for translation."""

from __future__ import annotations

import re
from html.parser import HTMLParser

READ = ("alt", "aria-label", "aria-roledescription", "data-announce", "data-label", "placeholder", "title")
OPAQUE = frozenset({"code", "kbd", "pre", "script", "style", "svg", "template", "textarea"})
VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "path", "rect", "use", "wbr"})
# Names and units, the same in every language.
NAMES = frozenset(
    {
        *("CPU", "CSV", "Ctrl", "GiB", "JSON", "Kubernetes", "MiB", "OpenAPI", "REST", "TLS", "URL", "UTC", "YAML"),
        *("k", "kschedweb", "n", "p50", "p95", "uid", "x"),
    }
)
_TOKENS = re.compile(
    r"{#.*?#}|{% comment.*?endcomment %}|{% blocktranslate.*?endblocktranslate %}|{%.*?%}|{{.*?}}", re.DOTALL
)
_TAG_TEXTS = (
    re.compile(r"""{% icon \S+ "(?P<text>[^"]+)" %}"""),
    re.compile(r"""{% empty_state "(?P<text>[^"]+)\""""),
    re.compile(r"""\bdefault(?:_if_none)?:"(?P<text>[^"]+)\""""),
    re.compile(r"""{% (?:empty_state|table|include) [^%]*?\b(?:action2?|label|title|caption)="(?P<text>[^"]+)\""""),
    re.compile(r"""{% sort_head \S+ "(?P<text>[^"]+)\""""),
)
_NOT_SHOWN = re.compile(r"{#.*?#}|{% url .*?%}", re.DOTALL)
_OF_MARKUP = re.compile(r'\w=|="')  # an address, or attributes that a template adds to a tag
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9'-]*")


def has_words(text: str) -> bool:
    return any(word not in NAMES for word in _WORD.findall(re.sub(r"&#?\w+;", " ", text)))


class _Reader(HTMLParser):
    """Texts and read attributes of HTML, without what is marked as code or as not to be translated."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []

    @property
    def quiet(self) -> bool:
        return any(quiet for _, quiet in self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        quiet = tag in OPAQUE or attributes.get("translate") == "no"
        if not self.quiet and attributes.get("translate") != "no":
            self.found += [attributes[name] or "" for name in READ if name in attributes]
        if tag not in VOID:
            self.open.append((tag, quiet))

    def handle_endtag(self, tag: str) -> None:
        for at in range(len(self.open) - 1, -1, -1):
            if self.open[at][0] == tag:
                del self.open[at:]
                return

    def handle_data(self, data: str) -> None:
        if not self.quiet:
            self.found.append(data)


def texts(html: str) -> list[str]:
    """List the texts of ``html`` that a person reads, one entry a text or attribute, without blanks around."""
    reader = _Reader()
    reader.feed(html)
    return [" ".join(text.split()) for text in reader.found if text.strip()]


def outside(html: str, begins: str, ends: str) -> list[str]:
    """Return the text of ``html`` outside of ``begins`` and ``ends``, which may lie in different elements."""
    depth, outer_texts = 0, []
    for text in texts(html):
        outer_text = ""
        for part in re.split(f"([{begins}{ends}])", text):
            if part == begins:
                depth += 1
            elif part == ends:
                depth -= 1
            elif not depth:
                outer_text += part
        outer_texts.append(" ".join(outer_text.split()))
    return [text for text in outer_texts if has_words(text)]


def bare_texts(source: str) -> list[str]:
    """The words of a template's ``source`` that it shows as they are."""
    found_texts = [text for text in texts(_TOKENS.sub("", source)) if not _OF_MARKUP.search(text)]
    tags = _NOT_SHOWN.sub("", source)
    for pattern in _TAG_TEXTS:
        found_texts += [match["text"] for match in pattern.finditer(tags)]
    return [text for text in found_texts if has_words(text)]
