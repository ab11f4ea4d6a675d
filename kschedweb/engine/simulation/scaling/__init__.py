"""Workloads whose number of pods changes while a simulation runs, and the load that their pods share."""
