"""Claims, volumes and disks: what the cluster has, what bound pods use, what a pod can get."""
