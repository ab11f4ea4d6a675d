"""Clusters described in JSON, their pending pods, and the scheduler that places those pods."""
