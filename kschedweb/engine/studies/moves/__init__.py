"""What a descheduling cycle leads to: where evicted pods land, what that gains and disturbs, and whether it ends."""
