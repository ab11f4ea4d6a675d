from django.urls import path

from kschedweb.clusters import views

urlpatterns = [
    path("clusters/", views.clusters, name="clusters"),
    path("clusters/connect/", views.connect, name="cluster-connect"),
    path("clusters/import/", views.import_files, name="cluster-import"),
    path("clusters/load-demo/", views.demo, name="cluster-demo"),
    path("clusters/<slug:name>/", views.cluster, name="cluster"),
    path("clusters/<slug:name>/refresh/", views.refresh, name="cluster-refresh"),
    path("clusters/<slug:name>/schedule/", views.schedule, name="cluster-schedule"),
    path("clusters/<slug:name>/labels/", views.labels, name="cluster-labels"),
    path("clusters/<slug:name>/credentials/", views.credentials, name="cluster-credentials"),
    path("clusters/<slug:name>/delete/", views.delete, name="cluster-delete"),
]
