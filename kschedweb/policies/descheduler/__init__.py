"""DeschedulerPolicy documents, which say what pods the descheduler evicts. Such a document places no pod."""
