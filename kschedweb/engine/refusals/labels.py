"""The API server's refusals of names, labels and selectors, in its words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.validation.fields import Problem, Typed, forbidden, invalid, required
from kschedweb.engine.validation.labels import (
    dns_label_complaints,
    name_complaints,
    subdomain_complaints,
    value_complaints,
)

MUST_HAVE = "must be specified when `operator` is 'In' or 'NotIn'"
MUST_NOT_HAVE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
NO_OPERATOR = "not a valid selector operator"


def key_problems(path: str, key: str) -> Iterator[Problem]:
    """Yield the problems of ``key`` as the key of a label, a taint or a topology."""
    return (invalid(path, key, complaint) for complaint in name_complaints(key))


def value_problems(path: str, value: str) -> Iterator[Problem]:
    return (invalid(path, value, complaint) for complaint in value_complaints(value))


def label_problems(labels: FieldValue) -> Iterator[Problem]:
    listed = labels.labels
    # Nearly all labels are valid and their complaints are cached, so that sorting them first would cost more than this
    # check.
    if not any(map(name_complaints, listed)) and not any(map(value_complaints, listed.values())):
        return
    for key, value in sorted(listed.items()):
        yield from key_problems(labels.path, key)
        yield from value_problems(labels.path, value)


def subdomain_problems(name: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a name that may have dots, such as that of a node; none for an empty name."""
    return (invalid(name.path, name.text, complaint) for complaint in subdomain_complaints(name.text) if name.text)


def dns_label_problems(name: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a name without dots, such as that of a container; none for an empty name."""
    return (invalid(name.path, name.text, complaint) for complaint in dns_label_complaints(name.text) if name.text)


def selector_problems(selector: FieldValue) -> Iterator[Problem]:
    """Yield the problems of a selector of labels: ``matchLabels`` and ``matchExpressions``."""
    yield from label_problems(selector["matchLabels"])
    for requirement in selector["matchExpressions"].items:
        yield from _count_problems(requirement, ())
        yield from key_problems(requirement.path_to("key"), requirement["key"].text)
        yield from listed_value_problems(requirement["values"])


def node_selector_problems(selector: FieldValue, *, any_value: bool = False) -> Iterator[Problem]:
    """Yield the problems of required node affinity, of a pod or of a volume."""
    terms = selector["nodeSelectorTerms"]
    if not terms.items:
        yield required(terms.path, "must have at least one node selector term")
    for term in terms.items:
        yield from node_term_problems(term, any_value=any_value)


def node_term_problems(term: FieldValue, *, any_value: bool) -> Iterator[Problem]:
    """Yield the problems of one term of node affinity.

    With ``any_value``, label values may be anything, as in preferred terms.
    """
    for requirement in term["matchExpressions"].items:
        yield from _count_problems(requirement, ("Gt", "Lt"))
        yield from key_problems(requirement.path_to("key"), requirement["key"].text)
        if not any_value:
            yield from listed_value_problems(requirement["values"])
    for requirement in term["matchFields"].items:
        yield from _field_problems(requirement)


def listed_value_problems(values: FieldValue) -> Iterator[Problem]:
    for at, value in enumerate(values.texts):
        yield from value_problems(f"{values.path}[{at}]", value)


def _count_problems(requirement: FieldValue, comparing: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem if the operator does not take this number of values."""
    operator, values = requirement["operator"].text, requirement["values"]
    if operator in ("In", "NotIn"):
        if not values.texts:
            yield required(values.path, MUST_HAVE)
    elif operator in ("Exists", "DoesNotExist"):
        if values.texts:
            yield forbidden(values.path, MUST_NOT_HAVE)
    elif operator in comparing:
        if len(values.texts) != 1:
            yield required(values.path, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(requirement.path_to("operator"), Typed(operator), NO_OPERATOR)


def _field_problems(requirement: FieldValue) -> Iterator[Problem]:
    values = requirement["values"]
    if requirement["operator"].text not in ("In", "NotIn"):
        yield invalid(requirement.path_to("operator"), Typed(requirement["operator"].text), NO_OPERATOR)
    elif len(values.texts) != 1:
        message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(values.path, message)
    if (key := requirement["key"].text) != "metadata.name":
        yield invalid(requirement.path_to("key"), key, "not a valid field selector key")
        return
    for at, value in enumerate(values.texts):
        yield from (invalid(f"{values.path}[{at}]", value, complaint) for complaint in subdomain_complaints(value))


def complete_label_keys(term: FieldValue, labels: Mapping[str, str]) -> FieldValue:
    """Return the term or constraint of a pod with ``labels`` as the API server stores it.

    It writes the pod's own values for ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selector.
    """
    selector = term["labelSelector"]
    key_operators = [(key, "In") for key in term["matchLabelKeys"].texts]
    key_operators += [(key, "NotIn") for key in term["mismatchLabelKeys"].texts]
    more = [{"key": key, "operator": sign, "values": [labels[key]]} for key, sign in key_operators if key in labels]
    if not more or not isinstance(selector.value, dict):
        return term
    expressions = [*(expression.value for expression in selector["matchExpressions"].items), *more]
    return FieldValue(term.path, {**term.value, "labelSelector": {**selector.value, "matchExpressions": expressions}})


def label_key_problems(term: FieldValue) -> Iterator[Problem]:
    """Yield the problems of ``matchLabelKeys`` and ``mismatchLabelKeys`` of a completed term or constraint."""
    match, mismatch, selector = term["matchLabelKeys"], term["mismatchLabelKeys"], term["labelSelector"]
    for keys in (match, mismatch):
        if keys.texts and not selector.is_given:
            yield forbidden(keys.path, "must not be specified when labelSelector is not set")
        elif selector.is_given:
            for at, key in enumerate(keys.texts):
                yield from key_problems(f"{keys.path}[{at}]", key)
    places = {key: at for at, key in enumerate(match.texts)}
    selector_keys = set(selector["matchLabels"].labels)
    for key in (expression["key"].text for expression in selector["matchExpressions"].items):
        if key in places and key in selector_keys:
            yield invalid(f"{term.path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        selector_keys.add(key)
    for at, key in enumerate(match.texts):
        if key in mismatch.texts:
            yield invalid(f"{match.path}[{at}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
