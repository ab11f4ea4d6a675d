from django.urls import path

from kschedweb.playground.scenarios import views

urlpatterns = [
    path("scenarios/", views.list_scenarios, name="scenarios"),
    path("scenarios/new/", views.scenario_new, name="scenario-new"),
    path("scenarios/import/", views.scenario_import, name="scenario-import"),
    path("scenarios/schema.json", views.scenario_schema, name="scenario-schema"),
    path("scenarios/<uuid:scenario_id>/", views.show_scenario, name="scenario"),
    path("scenarios/<uuid:scenario_id>/edit/preview/", views.scenario_preview, name="scenario-preview"),
    path("scenarios/<uuid:scenario_id>/edit/effect/", views.scenario_effect, name="scenario-effect"),
    path("scenarios/<uuid:scenario_id>/files/", views.scenario_files, name="scenario-files"),
    path("scenarios/<uuid:scenario_id>/files/<str:name>/", views.scenario_file, name="scenario-file"),
    path("scenarios/<uuid:scenario_id>/revisions/", views.scenario_revisions, name="scenario-revisions"),
    path(
        "scenarios/<uuid:scenario_id>/revisions/<int:number>/restore/", views.scenario_restore, name="scenario-restore"
    ),
    path("scenarios/<uuid:scenario_id>/diff/", views.scenario_diff, name="scenario-diff"),
    path("scenarios/<uuid:scenario_id>/export/", views.scenario_export, name="scenario-export"),
    path("scenarios/<uuid:scenario_id>/copy/", views.scenario_copy, name="scenario-copy"),
    path("scenarios/<uuid:scenario_id>/share/", views.scenario_share, name="scenario-share"),
    path("scenarios/<uuid:scenario_id>/delete/", views.scenario_delete, name="scenario-delete"),
]
