"""The functions of kube-scheduler's CEL environment, by the library they come from."""
