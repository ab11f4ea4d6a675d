"""The decision page, the pages of groups of pods, of load-aware policies, and of predicates and priorities."""

from __future__ import annotations

from django.urls import path

from kschedweb.decisions import views
from kschedweb.decisions.classic import views as classic_views
from kschedweb.decisions.editing import views as editing_views
from kschedweb.decisions.groups import views as group_views
from kschedweb.decisions.inquiring import views as inquiring_views
from kschedweb.decisions.load_aware import views as load_views
from kschedweb.decisions.nodes import views as node_views
from kschedweb.decisions.together import views as together_views
from kschedweb.web.redirects import moved_route

urlpatterns = [
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/", views.show_decision, name="decision"),
    path("decision/<slug:cluster>/<str:namespace>/<str:pod>/nodes/", views.node_names, name="decision-nodes"),
    path("nodes/<str:node>/", node_views.show_node, name="node"),
    path("nodes/<str:node>/place/", node_views.show_place, name="node-place"),
    path("clusters/<slug:cluster>/together/", together_views.show_together, name="decisions-together"),
    path("decisions/questions/<uuid:question_id>/", inquiring_views.show_answer, name="decision-answer"),
    path("clusters/<slug:cluster>/podgroups/", group_views.list_groups, name="pod-groups"),
    path("clusters/<slug:cluster>/podgroups/<str:namespace>/<path:group>/", group_views.show_group, name="pod-group"),
    path("policies/<slug:name>/edit/effect/", editing_views.policy_effect, name="policy-effect"),
    path("classic/", classic_views.list_classic_rules, name="classic"),
    path("classic/<str:name>/", classic_views.show_classic_rule, name="classic-entry"),
    path("load-aware/", load_views.show_load_aware, name="load-aware"),
    path("load-aware/pods/", load_views.pod_names, name="load-aware-pods"),
    moved_route("watermarks/policies/", "load-aware"),
]
