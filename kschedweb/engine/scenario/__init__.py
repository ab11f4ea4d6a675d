"""Clusters described in JSON, the pods that wait in them, and what schedules those pods."""
