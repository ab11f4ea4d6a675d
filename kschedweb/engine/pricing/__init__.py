"""What nodes cost: a table of prices, the cost of a cluster now and over time, and who asks for what is paid.

Without a table, and for nodes that it does not price, there are node-hours and never an amount of money.
"""
