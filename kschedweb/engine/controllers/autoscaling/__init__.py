"""Who changes the number of a workload's pods: the controller of HorizontalPodAutoscalers, cron, and which pods go."""
