from django.urls import path

from kschedweb.clusters import views

urlpatterns = [
    path("clusters/", views.list_clusters, name="clusters"),
    path("clusters/connect/", views.connect_cluster, name="cluster-connect"),
    path("clusters/connect/addresses/", views.allow_address, name="cluster-address-allow"),
    path("clusters/connect/addresses/remove/", views.remove_address, name="cluster-address-remove"),
    path("clusters/import/", views.import_files, name="cluster-import"),
    path("clusters/load-demo/", views.load_demo, name="cluster-demo"),
    path("clusters/<slug:name>/", views.show_cluster, name="cluster"),
    path("clusters/<slug:name>/refresh/", views.refresh_cluster, name="cluster-refresh"),
    path("clusters/<slug:name>/schedule/", views.schedule_refresh, name="cluster-schedule"),
    path("clusters/<slug:name>/labels/", views.set_labels, name="cluster-labels"),
    path("clusters/<slug:name>/credentials/", views.replace_credentials, name="cluster-credentials"),
    path("clusters/<slug:name>/delete/", views.delete_cluster, name="cluster-delete"),
    path("clusters/<slug:cluster>/yaml/nodes/<str:node>/", views.show_node_manifest, name="node-manifest"),
    path("clusters/<slug:cluster>/yaml/pods/<str:namespace>/<str:pod>/", views.show_pod_manifest, name="pod-manifest"),
    path(
        "clusters/<slug:cluster>/yaml/workloads/<str:namespace>/<str:workload>/",
        views.show_workload_manifest,
        name="workload-manifest",
    ),
]
