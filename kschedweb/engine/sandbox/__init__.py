"""A cluster that lives in this process: an API server over plain data, with controllers and kubelets behind it."""
