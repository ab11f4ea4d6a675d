"""Moves: what a cycle of the descheduler would evict, where those pods would land, and what that gains and disturbs."""
