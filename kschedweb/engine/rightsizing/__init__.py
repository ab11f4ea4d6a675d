"""Recommended requests of containers from their usage: the recommender of the Vertical Pod Autoscaler 1.8.1.

The same float64 operations in the same order make answers equal to the last bit; many containers are computed at once.
"""
