"""What containers should request, from what they used: the recommender of the vertical pod autoscaler 1.8.1.

The same float64 operations in the same order, so that answers are equal and not only alike; many containers at once.
"""
