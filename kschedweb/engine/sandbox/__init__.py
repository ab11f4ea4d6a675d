"""A cluster that lives in this process: an API server over plain data, and the controllers and kubelets behind it."""
