"""Plain words about recommendations, savings and history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.advice.rightsizing.sizing import MONTH, VPA
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_count, format_cpu, format_price, in_bytes, in_column, price_in_column

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import ContainerSize, HourlyRates, SizeTotals
    from kschedweb.engine.rightsizing.recommender import RecommenderSettings

NAMES = {
    VPA: _("As VPA"),
    "p50": _("50th percentile"),
    "p90": _("90th percentile"),
    "p95": _("95th percentile"),
    "p99": _("99th percentile"),
}
SHOW_LABELS = {"": _("All"), "less": _("Request less"), "more": _("Request more"), "unknown": _("No history")}


def render_heading(totals: SizeTotals, cluster: str, unit: str) -> str:
    if totals.containers == totals.unknown:
        return gettext("The use of containers of %(cluster)s is not known yet") % {"cluster": cluster}
    if totals.hour != totals.hour:
        return gettext("Right-sized requests of %(cluster)s") % {"cluster": cluster}
    amounts = {"cluster": cluster, "amount": f"{format_price(abs(totals.hour))} {unit}"}
    if totals.hour >= 0:
        return gettext("Right-sized requests of %(cluster)s would save %(amount)s an hour") % amounts
    return gettext("Workloads of %(cluster)s use more than they request: right-sized, +%(amount)s an hour") % amounts


def format_saving(amount: float, resource: str) -> str:
    """Return the saving of ``resource`` (cpu, memory or money), in words if it is negative."""
    if resource == "money":
        more, text = gettext("costs %(amount)s more"), price_in_column(abs(amount))
    else:
        more, text = gettext("needs %(amount)s more"), in_column(abs(amount), resource)
    return more % {"amount": text} if amount < 0 else text


def list_savings(totals: SizeTotals, unit: str, hours: int) -> list[tuple[str, str]]:
    """Return the total savings, or extra needs, as amounts and their names. Money is for so many ``hours``."""
    parts = [
        (in_column(abs(totals.cpu), "cpu"), gettext("cores saved") if totals.cpu >= 0 else gettext("cores more")),
        (in_column(abs(totals.memory), "memory"), gettext("GiB saved") if totals.memory >= 0 else gettext("GiB more")),
    ]
    if totals.hour != totals.hour:
        return parts
    less, more = gettext("%(unit)s saved an hour"), gettext("%(unit)s more an hour")
    if hours == MONTH:
        less, more = gettext("%(unit)s saved a month of 730 hours"), gettext("%(unit)s more a month of 730 hours")
    amount = totals.hour * hours
    return [*parts, (format_price(abs(amount)), (less if amount >= 0 else more) % {"unit": unit})]


def describe_history(days: float, samples: int) -> str:
    """Return how much history of a container there is, in words."""
    count = {"samples": f"{samples:,}"}
    if days >= 2:
        return gettext("%(days)s days of history, %(samples)s samples") % {"days": f"{days:.0f}", **count}
    if days * 24 >= 2:
        return gettext("%(hours)s hours of history, %(samples)s samples") % {"hours": int(days * 24), **count}
    return gettext("%(minutes)s minutes of history, %(samples)s samples") % {"minutes": f"{days * 1440:.0f}", **count}


def explain_target(size: ContainerSize, settings: RecommenderSettings, method: str, siblings: int) -> list[str]:
    """Explain in sentences how the target of a container with history was computed."""
    history = {"pods": format_count(size.pods, "pods"), "history": describe_history(size.days, size.samples)}
    sentences = [gettext("Known of %(pods)s: %(history)s.") % history]
    if method != VPA:
        target = gettext("The target is this share of the use: %(method)s. No margin and no minimum are added.")
        return [*sentences, target % {"method": NAMES[method]}]
    sentences += [
        gettext(
            "Newer CPU samples count more: the weight halves every %(hours)s hours. %(share)s %% of the weight is at "
            "or below the CPU target, before the margin."
        )
        % {"hours": f"{settings.cpu_half_life / 3600e9:.0f}", "share": f"{settings.cpu.target * 100:.0f}"},
        gettext(
            "Each pod counts with its memory peak of every %(hours)s hours. %(share)s %% of the weight is at or below "
            "the memory target, before the margin."
        )
        % {"hours": f"{settings.interval / 3600e9:.0f}", "share": f"{settings.memory.target * 100:.0f}"},
        gettext(
            "A margin of %(margin)s %% is added. A pod gets at least %(cpu)s CPU and %(memory)s, shared by its "
            "%(containers)s."
        )
        % {
            "margin": f"{settings.margin * 100:.0f}",
            "cpu": format_cpu(round(settings.least_cpu)),
            "memory": in_bytes(round(settings.least_memory * 2**20)),
            "containers": format_count(siblings, "containers"),
        },
    ]
    if size.killed:
        sentences.append(
            gettext(
                "It ran out of memory %(times)s. Each kill counts as using 20 %% more than requested, at least "
                "100 MiB more."
            )
            % {"times": format_count(size.killed, "times")}
        )
    if not size.is_sure:
        sentences.append(
            gettext("With less than a day of history the bounds are wide and the target may still change.")
        )
    return sentences


def describe_money(rates: HourlyRates) -> str:
    """Explain what amounts of money mean."""
    if rates.money:
        return gettext("Money: what a core and a GiB cost on average, over the nodes with a price.")
    return gettext("Without a price table savings are in node-hours: an average node counts 1 an hour.")
