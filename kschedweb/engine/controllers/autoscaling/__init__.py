"""Controllers of the number of a workload's pods: HorizontalPodAutoscalers and cron."""
