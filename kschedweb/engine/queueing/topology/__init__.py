"""Topology-aware scheduling: domains, and where the pods of a workload are placed."""
