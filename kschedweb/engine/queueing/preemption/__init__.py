"""Preemption for a workload: classical, and that of fair sharing."""
