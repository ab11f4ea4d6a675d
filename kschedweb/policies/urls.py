from django.urls import path

from kschedweb.policies import views
from kschedweb.policies.conversion import views as conversion

urlpatterns = [
    path("policies/", views.policy_list, name="policies"),
    path("policies/new/", views.policy_new, name="policy-new"),
    path("policies/schema.json", views.policy_schema, name="policy-schema"),
    path("policies/<slug:name>/", views.policy_edit, name="policy"),
    path("policies/<slug:name>/edit/preview/", views.policy_preview, name="policy-preview"),
    path("policies/<slug:name>/edit/curves/", views.policy_curves, name="policy-curves"),
    path("policies/<slug:name>/revisions/", views.policy_revisions, name="policy-revisions"),
    path("policies/<slug:name>/revisions/<int:number>/restore/", views.policy_restore, name="policy-restore"),
    path("policies/<slug:name>/diff/", views.policy_diff, name="policy-diff"),
    path("policies/<slug:name>/effective/", views.policy_effective, name="policy-effective"),
    path("policies/<slug:name>/profile/", conversion.policy_profile, name="policy-profile"),
    path("policies/<slug:name>/profile/download/", conversion.policy_profile_download, name="policy-profile-download"),
    path("policies/<slug:name>/download/", views.policy_download, name="policy-download"),
    path("policies/<slug:name>/delete/", views.policy_delete, name="policy-delete"),
]
