"""Policy files of crane-scheduler: DynamicSchedulerPolicy, which the arguments of its plugin Dynamic point at."""
