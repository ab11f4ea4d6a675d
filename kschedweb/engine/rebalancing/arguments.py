"""Types that arguments of several plugins share, and the descheduler's errors for them."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.config.types import STRING, ListType, MapType, Struct, StructField
from kschedweb.engine.documents.leaves import Number
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import SelectorError, label_selector

# Types of fields with Go's names for them, which errors of the decoder show.
UINT = Number(0, (1 << 64) - 1, whole=True, bits=64, go_type="uint")
INT = Number(whole=True, bits=64, go_type="int")
STRINGS = ListType(STRING)
PERCENTAGE = Number(bits=64, go_type="api.Percentage")
THRESHOLDS = MapType(PERCENTAGE, keys=("cpu", "memory", "pods"), go="api.ResourceThresholds")
TYPE_META = (StructField("kind", STRING), StructField("apiVersion", STRING))

NAMESPACES = Struct(
    "api.Namespaces",
    "Namespaces whose pods are looked at, or are not.",
    (StructField("include", STRINGS, "Only these."), StructField("exclude", STRINGS, "All but these.")),
)
_EXPRESSION = Struct(
    "v1.LabelSelectorRequirement",
    "A condition on a label.",
    (
        StructField("key", STRING, "The label.", omit_empty=False),
        StructField("operator", STRING, "In, NotIn, Exists or DoesNotExist.", omit_empty=False),
        StructField("values", STRINGS, "What In and NotIn compare with."),
    ),
)
SELECTOR = Struct(
    "v1.LabelSelector",
    "Which labels are meant.",
    (
        StructField("matchLabels", MapType(STRING), "Labels with their values."),
        StructField("matchExpressions", ListType(_EXPRESSION), "Conditions, all of which must hold."),
    ),
)
NAMESPACES_FIELD = StructField("namespaces", NAMESPACES, "Namespaces of the pods to check.", pointer=True)
SELECTOR_FIELD = StructField("labelSelector", SELECTOR, "Labels of the pods to check.", pointer=True)
Args = Json


def args_struct(name: str, help: str, *fields: StructField) -> Struct:
    """Return the type of a plugin's arguments."""
    return Struct(name, help, (*TYPE_META, *fields))


def include_exclude_faults(selection: Json | None, subject: str = "namespaces") -> list[str]:
    """Return the faults of a pair of include and exclude."""
    wrong = selection and selection["include"] and selection["exclude"]
    return [f"only one of Include/Exclude {subject} can be set"] if wrong else []


def selector_faults(selector: Json | None) -> list[str]:
    """Return the faults of a label selector."""
    try:
        label_selector(selector)
    except SelectorError as error:
        return [f"failed to get label selectors from strategy's params: {error}"]
    return []


def scope_faults(args: Args) -> list[str]:
    """Return the faults of a plugin's namespaces and label selector."""
    return include_exclude_faults(args["namespaces"]) + selector_faults(args["labelSelector"])


def format_go_list(words: Iterable[str]) -> str:
    """Return words as Go prints a list of them."""
    return f"[{' '.join(words)}]"


def aggregate_errors(faults: list[str]) -> str:
    """Return one text for several errors, as Kubernetes' `NewAggregate` prints them: each once."""
    distinct = list(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
