"""Kueue: which workloads get quota, in which flavors, and which are evicted for them.

`scenario.py` answers described queues and workloads cycle by cycle. `cycle/` is a scheduling cycle on a `snapshot.py`
of what `cache.py` knows; `queues.py` holds the workloads that wait, `workloads/` their requests and conditions,
`quota/` the tree, `preemption/` victims, `topology/` places, `explaining/` why one of them waits.
"""
