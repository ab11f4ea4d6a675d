"""Preemption: which pods to evict, and from which node, so that a pod that fits nowhere gets room."""
