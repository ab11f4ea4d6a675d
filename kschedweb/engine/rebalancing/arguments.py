"""Types that arguments of several plugins share, and what the descheduler says where they are wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kschedweb.engine.config.types import STRING, Field, ListOf, MapOf, Struct
from kschedweb.engine.documents.leaves import Number
from kschedweb.engine.objects.labels import SelectorError, label_selector

UINT = Number(0, (1 << 64) - 1, whole=True, bits=64, named="uint")
INT = Number(whole=True, bits=64, named="int")
STRINGS = ListOf(STRING)
PERCENTAGE = Number(bits=64, named="api.Percentage")
THRESHOLDS = MapOf(PERCENTAGE, keys=("cpu", "memory", "pods"), go="api.ResourceThresholds")
TYPE_META = (Field("kind", STRING), Field("apiVersion", STRING))

NAMESPACES = Struct(
    "api.Namespaces",
    "Namespaces whose pods are looked at, or are not.",
    (Field("include", STRINGS, "Only these."), Field("exclude", STRINGS, "All but these.")),
)
_EXPRESSION = Struct(
    "v1.LabelSelectorRequirement",
    "A condition on a label.",
    (
        Field("key", STRING, "The label.", omit_empty=False),
        Field("operator", STRING, "In, NotIn, Exists or DoesNotExist.", omit_empty=False),
        Field("values", STRINGS, "What In and NotIn compare with."),
    ),
)
SELECTOR = Struct(
    "v1.LabelSelector",
    "Which labels are meant.",
    (
        Field("matchLabels", MapOf(STRING), "Labels with their values."),
        Field("matchExpressions", ListOf(_EXPRESSION), "Conditions, all of which must hold."),
    ),
)
NAMESPACES_FIELD = Field("namespaces", NAMESPACES, "Whose pods are looked at.", pointer=True)
SELECTOR_FIELD = Field("labelSelector", SELECTOR, "Which pods are looked at.", pointer=True)
Args = dict[str, Any]


def args_struct(name: str, help: str, *fields: Field) -> Struct:
    """The type of a plugin's arguments."""
    return Struct(name, help, (*TYPE_META, *fields))


def both(found: dict[str, Any] | None, what: str = "namespaces") -> list[str]:
    """What is wrong with a pair of include and exclude."""
    wrong = found and found["include"] and found["exclude"]
    return [f"only one of Include/Exclude {what} can be set"] if wrong else []


def selector_faults(found: dict[str, Any] | None) -> list[str]:
    """What is wrong with a label selector."""
    try:
        label_selector(found)
    except SelectorError as error:
        return [f"failed to get label selectors from strategy's params: {error}"]
    return []


def scope_faults(args: Args) -> list[str]:
    """What is wrong with the namespaces and labels that a plugin looks at."""
    return both(args["namespaces"]) + selector_faults(args["labelSelector"])


def listed(words: Iterable[str]) -> str:
    """Words as Go prints a list of them."""
    return f"[{' '.join(words)}]"


def together(faults: list[str]) -> str:
    """Several errors as Kubernetes puts them into one; each is said once."""
    distinct = list(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
