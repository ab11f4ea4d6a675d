"""Claims, volumes and disks: those of the cluster, those in use, and those that a pod can get."""
