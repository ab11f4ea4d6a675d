"""The cost of nodes: a table of prices, the cost of a cluster now and over time, and its division between pods.

Without a table, and for nodes that it does not price, there are node-hours and never an amount of money.
"""
