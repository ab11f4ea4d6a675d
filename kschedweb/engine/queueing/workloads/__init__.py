"""Workloads: what they request, their conditions, what the controller and the webhooks make of them."""
