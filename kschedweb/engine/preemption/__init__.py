"""Preemption: the pods to evict, and their node, to make room for a pod that fits nowhere."""
