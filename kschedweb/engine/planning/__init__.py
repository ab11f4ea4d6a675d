"""Which running pods to move: the fewest moves that reach an objective, in waves, each asked of the scheduler's cycle.

``plan.plan`` is the way in. Nothing is done to a cluster.
"""
