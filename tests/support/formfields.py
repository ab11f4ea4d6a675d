"""Fields that a browser sends for a form of a page, without JavaScript."""

from __future__ import annotations

from html.parser import HTMLParser


class FormFields(HTMLParser):
    """Fields that a browser without JavaScript would send for one form."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.sent: dict[str, str] = {}
        self.inside = False
        self.area = self.select = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "form":
            self.inside = values.get("id") == self.form
        if not self.inside or "disabled" in values or (tag != "option" and not values.get("name")):
            return
        name = values.get("name") or ""
        if tag == "textarea":
            self.area, self.sent[name] = name, ""
        elif tag == "select":
            self.select, self.sent[name] = name, ""
        elif tag == "option" and "selected" in values:
            self.sent[self.select] = values.get("value") or ""
        elif tag == "input" and (values.get("type") not in ("checkbox", "radio") or "checked" in values):
            self.sent[name] = values.get("value") or ("on" if values.get("type") == "checkbox" else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.area:
            # The first newline belongs to the markup.
            self.sent[self.area] = self.sent[self.area].removeprefix("\n").replace("\n", "\r\n")
            self.area = ""
        if tag == "form":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.area:
            self.sent[self.area] += data


def fields(page: str, form: str) -> dict[str, str]:
    """The fields of the form with the id ``form``, as ``page`` shows them."""
    parser = FormFields(form)
    parser.feed(page)
    return parser.sent
