"""Amounts and shares in readable form, always with their unit."""

from __future__ import annotations

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext

from kschedweb.engine.objects.amounts import format_amount as format_amount
from kschedweb.engine.objects.amounts import format_cpu as format_cpu
from kschedweb.engine.objects.amounts import format_memory as format_memory
from kschedweb.web.counting import format_count as format_count


def format_cores(millicores: float | None) -> str:
    """Return millicores in cores, so that a column has one unit: 250 -> "0.25", 125 -> "0.125", 60000 -> "60.00"."""
    text = f"{int(millicores or 0) / 1000:,.3f}"
    return text.removesuffix("0")


def format_gibibytes(size: float | None) -> str:
    """Return bytes in GiB, so that a column has one unit: 256 MiB -> "0.25"; below half a hundredth "<0.01"."""
    value = int(size or 0) / (1 << 30)
    return "<0.01" if 0 < value < 0.005 else f"{value:,.2f}"


def in_column(value: float | None, resource: str) -> str:
    """Return CPU in cores, or memory in GiB; ``column_unit`` is for the head."""
    return format_cores(value) if resource == "cpu" else format_gibibytes(value)


def column_unit(resource: str) -> str:
    return gettext("cores") if resource == "cpu" else "GiB"


def in_bytes(count: int | None) -> str:
    """Return bytes of a file or a figure: "1.5 GiB". For amounts of Kubernetes see ``format_memory``."""
    text = format_memory(count)
    number = text.rstrip("KMGTPEi")
    return f"{number} {text[len(number) :]}B"


def format_price(amount: float | str | None) -> str:
    """Return an amount of money, or of node-hours: 1234.5 -> "1,234.50", 0.0425 -> "0.0425", 0.00001 -> "<0.0001".

    "–" for none, which a template may also have as "".
    """
    if amount is None or isinstance(amount, str):
        return "–"
    if abs(amount) >= 1 or amount == 0:
        return f"{amount:,.2f}"
    if abs(amount) < 0.0001:
        return "<0.0001"
    text = f"{amount:.4f}".rstrip("0")
    return text + "0" * max(0, 4 - len(text))


def whole_percent(share: float) -> str:
    """Return percents without decimals: 41.8 -> "42 %"."""
    return f"{floatformat(share, 0)} %"


def price_in_column(amount: float) -> str:
    """Return a price with as many digits as its neighbours: 1234.5 -> "1,234.50", 0.0425 -> "0.0425", 0.5 ->
    "0.5000".
    """
    return format_price(amount) if abs(amount) >= 1 or abs(amount) < 0.0001 else f"{amount:.4f}"
