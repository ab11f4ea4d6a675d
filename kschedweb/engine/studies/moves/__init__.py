"""The effect of descheduling cycles: where evicted pods land, what that gains and disturbs, and if it ends."""
