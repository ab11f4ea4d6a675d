"""Who may be evicted for a workload: classical preemption, and that of fair sharing."""
