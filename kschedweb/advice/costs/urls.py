from django.urls import path

from kschedweb.advice.costs import views

urlpatterns = [
    path("costs/", views.show_costs, name="costs"),
    path("costs/prices/", views.edit_prices, name="costs-prices"),
    path("costs/prices/schema/", views.prices_schema, name="costs-prices-schema"),
    path("costs/prices/<slug:cluster>/preview/", views.prices_preview, name="costs-prices-preview"),
    path("costs/prices/<slug:cluster>/download/", views.prices_download, name="costs-prices-download"),
]
