"""Watermarks as annotations on nodes and workloads: writing, checking and removing them."""
