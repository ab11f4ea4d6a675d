"""Every address of the site; each app keeps its own in urls.py (pages) and api.py (REST)."""

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from kschedweb.dashboard import reference
from kschedweb.scheduling.scraping import MetricsView

api: list[URLPattern | URLResolver] = [
    path("", include("kschedweb.accounts.api")),
    path("", include("kschedweb.jobs.api")),
    path("", include("kschedweb.clusters.api")),
    path("", include("kschedweb.watermarks.annotations.api")),
    path("", include("kschedweb.watermarks.api")),
    path("", include("kschedweb.policies.api")),
    path("", include("kschedweb.playground.api")),
    path("", include("kschedweb.capacity.api")),
    path("", include("kschedweb.gate.api")),
    path("", include("kschedweb.moves.api")),
    path("", include("kschedweb.scenarios.api")),
    path("", include("kschedweb.runs.api")),
    path("", include("kschedweb.runs.map_api")),
    path("", include("kschedweb.sweeps.api")),
    path("", include("kschedweb.experiments.api")),
    path("", include("kschedweb.scheduling.api")),
    path("", include("kschedweb.extender.api")),
    path("", include("kschedweb.shadow.api")),
    path("", include("kschedweb.recordings.api")),
    path("", include("kschedweb.approvals.api")),
    path("", include("kschedweb.approvals.webhooks.api")),
    path("", include("kschedweb.usage.api")),
    path("", include("kschedweb.dashboard.map_api")),
    path("", include("kschedweb.playground.load_api")),
    path("", include("kschedweb.playground.classic_api")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", reference.page, name="schema-page"),
]

urlpatterns = [
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/v1/", include((api, "api"))),
    path("", include("kschedweb.accounts.urls")),
    path("", include("kschedweb.jobs.urls")),
    path("", include("kschedweb.clusters.urls")),
    path("", include("kschedweb.watermarks.annotations.urls")),
    path("", include("kschedweb.watermarks.urls")),
    path("", include("kschedweb.policies.urls")),
    path("", include("kschedweb.playground.urls")),
    path("", include("kschedweb.capacity.urls")),
    path("", include("kschedweb.gate.urls")),
    path("", include("kschedweb.moves.urls")),
    path("", include("kschedweb.scenarios.urls")),
    path("", include("kschedweb.runs.urls")),
    path("", include("kschedweb.sweeps.urls")),
    path("", include("kschedweb.experiments.urls")),
    path("", include("kschedweb.scheduling.urls")),
    path("", include("kschedweb.extender.urls")),
    path("", include("kschedweb.shadow.urls")),
    path("", include("kschedweb.recordings.urls")),
    path("", include("kschedweb.approvals.webhooks.urls")),
    path("", include("kschedweb.approvals.urls")),
    path("", include("kschedweb.usage.urls")),
    path("", include("kschedweb.dashboard.urls")),
]

handler400 = "kschedweb.dashboard.problems.bad_request"
handler403 = "kschedweb.dashboard.problems.permission_denied"
handler404 = "kschedweb.dashboard.problems.not_found"
handler500 = "kschedweb.dashboard.problems.server_error"
