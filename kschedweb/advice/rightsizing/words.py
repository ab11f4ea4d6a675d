"""Plain words about recommendations, savings and history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.advice.rightsizing.sizing import MONTH, VPA
from kschedweb.web.units import format_count, format_cpu, format_price, in_bytes, in_column, price_in_column

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import ContainerSize, HourlyRates, SizeTotals
    from kschedweb.engine.rightsizing.recommender import RecommenderSettings

NAMES = {
    VPA: "As VPA",
    "p50": "50th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
}
SHOW_LABELS = {"": "All", "less": "Request less", "more": "Request more", "unknown": "No history"}


def render_heading(totals: SizeTotals, cluster: str, unit: str) -> str:
    if totals.containers == totals.unknown:
        return f"No use of containers of {cluster} is known yet"
    if totals.hour != totals.hour:
        return f"Right-sized requests of {cluster}"
    amount = f"{format_price(abs(totals.hour))} {unit}"
    does = f"save {amount} an hour" if totals.hour >= 0 else f"cost {amount} more an hour"
    return f"Right-sized requests of {cluster} would {does}"


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
    if days >= 2:
        return f"{days:.0f} days of history, {samples:,} samples"
    if days * 24 >= 2:
        return f"{int(days * 24)} hours of history, {samples:,} samples"
    return f"{days * 1440:.0f} minutes of history, {samples:,} samples"


def explain_target(size: ContainerSize, settings: RecommenderSettings, method: str, siblings: int) -> list[str]:
    """Explain in sentences how the target of a container with history was computed."""
    sentences = [f"There are {describe_history(size.days, size.samples)} of {format_count(size.pods, 'pods')}."]
    if method != VPA:
        return [*sentences, f"The target is the {NAMES[method]} of what was used. No margin and no minimum are added."]
    shares = settings.cpu.target, settings.memory.target
    half = settings.cpu_half_life / 3600e9
    sentences += [
        f"Each sample of CPU counts by its age: half as much after {half:.0f} hours. "
        f"{shares[0] * 100:.0f} % of that weight lies at or below the target of CPU before the margin.",
        f"Of memory each pod gives its peak of {settings.interval / 3600e9:.0f} hours; "
        f"{shares[1] * 100:.0f} % of their weight lies at or below the target before the margin.",
        f"A margin of {settings.margin * 100:.0f} % is added. A pod gets at least "
        f"{format_cpu(round(settings.least_cpu))} CPU and {in_bytes(round(settings.least_memory * 2**20))}, "
        f"shared by its {format_count(siblings, 'containers')}.",
    ]
    if size.killed:
        sentences.append(
            f"It was killed {format_count(size.killed, 'times')} for want of memory. "
            "Each kill counts as use of 20 % more than it requested, and of 100 MiB more at least."
        )
    if not size.is_sure:
        sentences.append("There is less than a day of history, so the bounds are wide and the target may still change.")
    return sentences


def describe_money(rates: HourlyRates) -> str:
    """Explain what amounts of money mean."""
    if rates.money:
        return "Money is what a core and a GiB cost on average over the nodes that have a price."
    return "There is no price table, so savings are in node-hours: an average node counts 1 an hour."
