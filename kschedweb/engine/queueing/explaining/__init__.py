"""Reasons why a workload waits: a cluster's queues as they are, and Kueue's next steps for one workload of them.

`explanation.py` is the way in. `queue_state.py` reads a cluster's objects; `quota_bars.py` has the tree of quota,
`queue_positions.py` the order of a queue, `evictions.py` victims, `remedies.py` what would let a workload in, and
`forecast.py` when that is.
"""
