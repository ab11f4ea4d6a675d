"""Pages of the frame. Each reads through selectors and hands plain rows to its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import JavaScriptCatalog

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.costs.selectors import summarize_cost
from kschedweb.advice.plans.offers import offer_later
from kschedweb.advice.plans.selectors import offer_of
from kschedweb.clusters.filters import NodeFilter, PodFilter
from kschedweb.clusters.models import NodeRow
from kschedweb.clusters.selectors import closed_nodes, node_rows, permissions_missing, pod_rows, refresh_job
from kschedweb.dashboard import selectors
from kschedweb.dashboard.causes import group_by_cause
from kschedweb.dashboard.context import ALL_CLUSTERS, FLEET_PAGE, THEMES
from kschedweb.dashboard.tables import NODES, PODS
from kschedweb.decisions import services as decisions
from kschedweb.policies.scope import scope_of
from kschedweb.sandbox.views import life_context
from kschedweb.watermarks import node_maps
from kschedweb.watermarks.usage.selectors import load_current_use
from kschedweb.web import searching
from kschedweb.web.exports import FORMATS, export_rows, export_table
from kschedweb.web.heavy import heavy
from kschedweb.web.languages import supported_language
from kschedweb.web.news import PARAMETER, NewsRequested, with_news
from kschedweb.web.nodemap.nodemap import MOST_NODES, MapChoice, MapSide, MapState, NodeMap
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from collections.abc import Container

    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.scope import PolicyScope
    from kschedweb.watermarks.usage.selectors import CurrentUse


PAGE_SIZE = 50
# Namespaces in the list of suggestions.
SUGGESTED = 50
# Seconds for which the engine may work on one list; the page requests the rest afterwards.
LIST_SECONDS, REASONS_SECONDS, REASON_SECONDS, EXPORT_SECONDS, POD_SECONDS = 0.12, 3.0, 2.0, 20.0, 10.0


@require_safe
@requires(Action.VIEW, in_part=True)
def show_overview(request: PageRequest) -> HttpResponse:
    """Show the state of the chosen cluster in one page; the choice of all clusters leads to theirs."""
    if request.GET.get("cluster") == ALL_CLUSTERS:
        return redirect(FLEET_PAGE)
    scope = scope_of(request)
    scope.snapshot_asked()
    if scope.snapshot is None:
        return render(request, "dashboard/overview.html", _describe_reading(scope))
    use = _present_use(scope)
    plan = offer_of(scope.snapshot)
    if plan is None and not scope.pinned:
        offer_later(snapshot=scope.snapshot)
    pending = selectors.pending_reasons(scope.revision, scope.snapshot, LIST_SECONDS, decisions.OVERVIEW_AT_ONCE)
    counts = selectors.count_objects(scope.snapshot)
    if len(pending.by_pod) < counts["waiting"] and not _reads_at_once(scope, decisions.OVERVIEW_AT_ONCE):
        # The stored outcomes are not all: a part of the page requests the rest.
        pending = selectors.PendingReasons([])
    context = {
        "counts": counts,
        "map": node_maps.map_snapshot(scope.snapshot, MapChoice.from_address(request.GET), use=use),
        "zones": selectors.compute_headroom(scope.snapshot, use),
        "use": use,
        "skew": use.compute_skew(closed_nodes(scope.snapshot)) if use else None,
        "cost": summarize_cost(scope.snapshot, use),
        "plan": plan,
        **_describe_pending(scope, pending),
        **life_context(scope.snapshot.cluster),
        "jobs": selectors.recent_jobs(request.user),
        "changes": selectors.recent_changes(),
    }
    return render(request, "dashboard/overview.html", context)


def _describe_reading(scope: PolicyScope) -> dict[str, object]:
    """Return the context of a cluster that has not been read: the job that reads it, and missing permissions."""
    if scope.cluster is None:
        return {}
    return {"reading": refresh_job(scope.cluster), "missing": permissions_missing(scope.cluster)}


def _describe_pending(scope: PolicyScope, pending: selectors.PendingReasons) -> dict[str, object]:
    """Return the context of dashboard/reasons.html: plain causes, and the scheduler's reasons."""
    counted = {"reasons": pending.count_reasons(), "explained_count": len(pending.by_pod)}
    return counted | _describe_causes(scope, pending)


def _describe_causes(scope: PolicyScope, pending: selectors.PendingReasons) -> dict[str, object]:
    """Return the context of dashboard/causes.html."""
    assert scope.cluster is not None
    return {
        "causes": group_by_cause(scope.cluster.name, pending.by_pod),
        "decision_prefix": reverse("decision", args=[scope.cluster.name, "-", "-"]).removesuffix("-/-/"),
    }


def _reads_at_once(scope: PolicyScope, max_bytes: int | None = None) -> bool:
    """Return whether a request may read the cluster, of at most ``max_bytes`` bytes, for its pending pods."""
    assert scope.snapshot is not None
    assert scope.revision is not None
    return decisions.at_hand(scope.snapshot, scope.revision, max_bytes)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_reasons(request: HttpRequest) -> HttpResponse:
    """Show why pods are pending, for a page that had no time for it. Opened by itself, it redirects there."""
    if not getattr(request, "htmx", False):
        return redirect(reverse("overview", query=request.GET))
    scope = scope_of(request)
    if scope.snapshot is None:
        raise Http404("There is no such cluster.")
    pending = selectors.pending_reasons(scope.revision, scope.snapshot, REASONS_SECONDS)
    context = {"counts": selectors.count_objects(scope.snapshot), **_describe_pending(scope, pending)}
    return render(request, "dashboard/reasons.html", context | {"read": True})


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_resolved(request: PageRequest) -> HttpResponse:
    """Show which policy and snapshot a page uses, and whether each is still the latest, for a page that stays open."""
    scope, page = scope_of(request), urlsplit(request.htmx.current_url or "")
    if not request.htmx or scope.resolved is None:
        raise Http404("Name a cluster and a policy that are there.")
    context = {"resolved": scope.resolved, "query": QueryDict(page.query)}
    return render(request, "parts/resolved_revisions.html", context)


@require_safe
@requires(Action.VIEW, in_part=True)
@with_news
def list_nodes(request: HttpRequest) -> HttpResponseBase:
    """Show nodes with their requests. The heatmap and the exports have the whole filter, the table a page."""
    scope = scope_of(request)
    scope.snapshot_asked()
    if scope.snapshot is None or scope.cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "nodes"})
    filters = NodeFilter(request.GET, queryset=node_rows(scope.snapshot))
    if (form := request.GET.get("format")) in FORMATS:
        return export_rows(form, f"{scope.cluster.name}-nodes", NODES.head, filters.qs.values_list(*NODES.fields))
    use = _present_use(scope)
    page = _paginate(request, scope.snapshot, filters.qs, "name")
    context = {
        "filter": filters,
        "page": page,
        "use": use,
        "rows": [(node, *(use.node_levels(node.name) if use else (None, None))) for node in page],
        "map": _node_map(request, scope.snapshot, filters.qs, use),
        # Folded below the map, unless something was asked of the list.
        "list_open": any(request.GET.get(name) for name in (*NodeFilter.base_filters, "ordering", "page", "view")),
        "zones": NodeRow.objects.filter(snapshot=scope.snapshot)
        .order_by("zone")
        .values_list("zone", flat=True)
        .distinct(),
    }
    return render(request, "dashboard/nodes.html", context)


def _present_use(scope: PolicyScope) -> CurrentUse | None:
    """Return the present usage, None beside a snapshot of the address, since it is not of that time."""
    return load_current_use(scope.cluster, timezone.now()) if scope.cluster and not scope.pinned else None


def _paginate(request: HttpRequest, snapshot: Snapshot, rows: QuerySet[Any], *called: str) -> Page[Any]:
    """Return the page that the address numbers.

    Its news are a newer snapshot, with the numbers of rows that came and went; ``called`` are the fields of their
    names.
    """
    newest = request.GET.get(PARAMETER, "")
    if newest and newest != str(snapshot.pk):
        added, removed = selectors.count_changes(snapshot, rows, newest, called)
        parts = [
            words % {"count": f"{count:,}"}
            for words, count in ((gettext("%(count)s new"), added), (gettext("%(count)s gone"), removed))
            if count
        ]
        raise NewsRequested(1, gettext(", ").join(parts) or gettext("A newer snapshot"))
    if newest:
        raise NewsRequested(0)
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    page.newest = str(snapshot.pk)  # type: ignore[attr-defined]
    return page


def _node_map(
    request: HttpRequest, snapshot: Snapshot, queryset: QuerySet[NodeRow], use: CurrentUse | None
) -> NodeMap | None:
    """Return the map of the filtered nodes, None if there are none, or more than a map draws."""
    if not 0 < queryset.count() <= MOST_NODES:
        return None
    cluster, filtered = snapshot.cluster.name, node_maps.select_filters(request.GET)
    pin = scope_of(request).pin
    listed = node_maps.read_nodes(snapshot, filtered, queryset)
    shows = node_maps.list_shows(listed, use)
    show = shows.get(request.GET.get("show", "cpu"), shows["cpu"])
    query = f"?{urlencode(filtered | pin)}" if filtered or pin else ""
    groupings = node_maps.group_by_labels(snapshot, filtered, listed)
    now = MapState(
        listed.names,
        groupings,
        show,
        node_maps.compute_values(listed, show.key, use),
        node_maps.count_pods(listed),
    )
    side = MapSide(
        label="",
        now=now,
        frames=f"{reverse('api:cluster-map-frames', args=[cluster])}{query}",
        pods=reverse("api:cluster-map-pods", args=[cluster]) + (f"?{urlencode(pin)}" if pin else ""),
        decisions=reverse("decision", args=[cluster, "-", "-"]).removesuffix("-/-/"),
        nodes=f"{reverse('pods')}?{urlencode({'cluster': cluster} | pin)}&node=",
        # What is shown at first comes with the page, the rest when it is chosen.
        inline=node_maps.make_document(listed, groupings, show, use),
    )
    params = request.GET
    return NodeMap(
        [side],
        list(shows.values()),
        by=params.get("by", ""),
        group=params.get("group", ""),
        focus=params.get("focus", ""),
        find=params.get("find", ""),
        fields={"cluster": cluster, **filtered, **pin},
    )


@require_safe
@requires(Action.VIEW, in_part=True)
@with_news
def list_pods(request: HttpRequest) -> HttpResponseBase:
    """Show pods, pending ones first, with the scheduler's message under the chosen policy."""
    scope = scope_of(request)
    scope.snapshot_asked()
    if scope.snapshot is None or scope.cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "pods"})
    rows, reason, explained = pod_rows(scope.snapshot), request.GET.get("reason", ""), 0
    if reason:
        pending = selectors.pending_reasons(scope.revision, scope.snapshot, REASON_SECONDS)
        rows, explained = rows.filter(pk__in=pending.rows_with(reason)), len(pending.by_pod)
    filters = PodFilter(request.GET, queryset=rows)
    if (form := request.GET.get("format")) in FORMATS:
        items = selectors.with_outcomes(scope, list(filters.qs), EXPORT_SECONDS)
        return export_table(form, f"{scope.cluster.name}-pods", PODS, items)
    page = _paginate(request, scope.snapshot, filters.qs, "namespace", "name")
    context = {
        "decision_query": scope.decision_query,
        "filter": filters,
        "reason": reason,
        "explained_count": explained,
        "page": page,
        "other_pods": selectors.others_of(scope.snapshot, request.GET.get("node", "")),
        "rows": selectors.with_outcomes(scope, page.object_list, LIST_SECONDS, decisions.LISTED_AT_ONCE),
    }
    if request.GET.get("pending") == "true":
        pending = selectors.pending_reasons(scope.revision, scope.snapshot, LIST_SECONDS, decisions.OVERVIEW_AT_ONCE)
        context |= _describe_causes(scope, pending.in_namespace(scope.namespace))
    return render(request, "dashboard/pods.html", context)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_pod_message(request: HttpRequest, namespace: str, pod: str) -> HttpResponse:
    """Show the message cell of one pending pod for which the list had no time."""
    scope = scope_of(request)
    if scope.snapshot is None or "\0" in namespace + pod:
        raise Http404("There is no such pod.")
    row = get_object_or_404(pod_rows(scope.snapshot), namespace=namespace, name=pod)
    (item,) = selectors.with_outcomes(scope, [row], POD_SECONDS)
    unknown = row.pending and item.outcome is None and scope.revision is not None
    slow = unknown and _reads_at_once(scope)
    return render(request, "dashboard/pod_message.html", {"item": item, "slow": slow})


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def suggest_namespaces(request: HttpRequest) -> HttpResponse:
    """List the first namespaces of the cluster whose names contain the typed text, as options."""
    typed = request.GET.get("namespace", "").strip().lower()
    names = [name for name in scope_of(request).namespaces if typed in name]
    return render(request, "dashboard/namespaces.html", {"names": names[:SUGGESTED]})


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def search_everything(request: HttpRequest) -> HttpResponse:
    """Search everything by name: the palette requests the fragment, a person the page."""
    words = " ".join(request.GET.get("q", "").replace("\0", "").split())[:100]
    group = searching.group_named(request.GET.get("kind", ""))
    if group is not None:
        page = Paginator(group.find(request, words), PAGE_SIZE).get_page(request.GET.get("page"))
        return render(request, "dashboard/search_kind.html", {"words": words, "group": group, "page": page})
    groups = searching.search_groups(request, words)
    template = "dashboard/results.html" if getattr(request, "htmx", False) else "dashboard/search.html"
    return render(
        request, template, {"words": words, "groups": groups, "total": sum(section.total for section in groups)}
    )


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Store the chosen theme in a cookie. The server renders the next page with it, so that nothing flashes."""
    return _set_cookie(request, "theme", THEMES)


@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """Store the language chosen before the login; a user's settings have their own."""
    return _set_cookie(request, settings.LANGUAGE_COOKIE_NAME, dict(settings.LANGUAGES))


class ScriptWords(JavaScriptCatalog):
    def get_paths(self, packages: list[str]) -> list[str]:
        return [str(path) for path in settings.LOCALE_PATHS]


@require_safe
@page_part
def serve_words(request: HttpRequest, language: str) -> HttpResponseBase:
    """Return the words of scripts in ``language``, as a script."""
    if not supported_language(language):
        raise Http404("There is no such language.")
    with translation.override(language):
        response = ScriptWords.as_view()(request)
    response["Cache-Control"] = "private, max-age=3600"
    return response


def _set_cookie(request: HttpRequest, name: str, choices: Container[str]) -> HttpResponse:
    chosen = request.POST.get(name, "")
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = "/"
    response = HttpResponseRedirect(target)
    if chosen in choices:
        # The page's own theme switch writes this cookie too, so it cannot be HttpOnly; it is no secret.
        response.set_cookie(name, chosen, max_age=365 * 24 * 3600, secure=request.is_secure(), samesite="Lax")
    return response
