"""Many clusters at once: what each needs, where a pod is, and what one policy would do to all of them."""
