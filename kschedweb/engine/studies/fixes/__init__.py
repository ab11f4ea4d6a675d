"""Fixes that would let a pending pod run: changes of the pod or of the cluster, each tried by the engine."""
