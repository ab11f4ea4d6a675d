"""Kubelets: pods start, end and leave on their nodes, and nodes report their state."""
