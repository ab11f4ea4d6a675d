"""DeschedulerPolicy documents: which pods the descheduler evicts. Nothing is placed by one."""
