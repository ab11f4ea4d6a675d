"""Rebalancing plans: the fewest moves of running pods that reach an objective, in waves.

Every move is checked by the scheduler's own cycle. ``plan.plan_moves`` is the entry point. Nothing is changed in a
cluster.
"""
