"""Every address of the site; each app keeps its own in urls.py (pages) and api.py (REST)."""

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from kschedweb.dashboard import reference
from kschedweb.live.schedulers.scraping import MetricsView

api: list[URLPattern | URLResolver] = [
    path("", include("kschedweb.accounts.api")),
    path("", include("kschedweb.lists.api")),
    path("", include("kschedweb.jobs.api")),
    path("", include("kschedweb.clusters.api")),
    path("", include("kschedweb.clusters.flight.api")),
    path("", include("kschedweb.clusters.prices.api")),
    path("", include("kschedweb.advice.costs.api")),
    path("", include("kschedweb.watermarks.annotations.api")),
    path("", include("kschedweb.watermarks.api")),
    path("", include("kschedweb.policies.api")),
    path("", include("kschedweb.decisions.api")),
    path("", include("kschedweb.decisions.devices.api")),
    path("", include("kschedweb.decisions.inquiring.api")),
    path("", include("kschedweb.decisions.groups.api")),
    path("", include("kschedweb.decisions.together.api")),
    path("", include("kschedweb.playground.capacity.api")),
    path("", include("kschedweb.advice.moves.api")),
    path("", include("kschedweb.advice.rightsizing.api")),
    path("", include("kschedweb.advice.plans.api")),
    path("", include("kschedweb.playground.gate.api")),
    path("", include("kschedweb.playground.migration.api")),
    path("", include("kschedweb.playground.trying.api")),
    path("", include("kschedweb.playground.scenarios.api")),
    path("", include("kschedweb.playground.runs.api")),
    path("", include("kschedweb.playground.runs.maps.api")),
    path("", include("kschedweb.playground.sweeps.api")),
    path("", include("kschedweb.playground.experiments.api")),
    path("", include("kschedweb.live.schedulers.api")),
    path("", include("kschedweb.live.extender.api")),
    path("", include("kschedweb.live.shadow.api")),
    path("", include("kschedweb.playground.recordings.api")),
    path("", include("kschedweb.live.approvals.api")),
    path("", include("kschedweb.live.approvals.webhooks.api")),
    path("", include("kschedweb.watermarks.usage.api")),
    path("", include("kschedweb.dashboard.map_api")),
    path("", include("kschedweb.decisions.load_aware.api")),
    path("", include("kschedweb.advice.autoscaling.api")),
    path("", include("kschedweb.sandbox.api")),
    path("", include("kschedweb.fleet.api")),
    path("", include("kschedweb.decisions.classic.api")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", reference.page, name="schema-page"),
]

urlpatterns = [
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/v1/", include((api, "api"))),
    path("", include("kschedweb.accounts.urls")),
    path("", include("kschedweb.lists.urls")),
    path("", include("kschedweb.jobs.urls")),
    path("", include("kschedweb.advice.costs.urls")),
    path("", include("kschedweb.clusters.urls")),
    path("", include("kschedweb.clusters.flight.urls")),
    path("", include("kschedweb.watermarks.annotations.urls")),
    path("", include("kschedweb.watermarks.urls")),
    path("", include("kschedweb.policies.urls")),
    path("", include("kschedweb.decisions.urls")),
    path("", include("kschedweb.playground.capacity.urls")),
    path("", include("kschedweb.advice.moves.urls")),
    path("", include("kschedweb.advice.rightsizing.urls")),
    path("", include("kschedweb.advice.plans.urls")),
    path("", include("kschedweb.playground.gate.urls")),
    path("", include("kschedweb.playground.migration.urls")),
    path("", include("kschedweb.playground.trying.urls")),
    path("", include("kschedweb.playground.scenarios.urls")),
    path("", include("kschedweb.playground.runs.urls")),
    path("", include("kschedweb.playground.sweeps.urls")),
    path("", include("kschedweb.playground.experiments.urls")),
    path("", include("kschedweb.live.schedulers.urls")),
    path("", include("kschedweb.live.extender.urls")),
    path("", include("kschedweb.live.shadow.urls")),
    path("", include("kschedweb.playground.recordings.urls")),
    path("", include("kschedweb.live.approvals.webhooks.urls")),
    path("", include("kschedweb.live.approvals.urls")),
    path("", include("kschedweb.advice.autoscaling.urls")),
    path("", include("kschedweb.sandbox.urls")),
    path("", include("kschedweb.watermarks.usage.urls")),
    path("", include("kschedweb.dashboard.urls")),
    path("", include("kschedweb.fleet.urls")),
]

handler400 = "kschedweb.web.problems.bad_request"
handler403 = "kschedweb.web.problems.permission_denied"
handler404 = "kschedweb.web.problems.not_found"
handler500 = "kschedweb.web.problems.server_error"
