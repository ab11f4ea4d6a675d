"""The labels and annotations by which a Job tells Kueue how it queues."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MINIMUM_ANNOTATION = "kueue.x-k8s.io/job-min-parallelism"
