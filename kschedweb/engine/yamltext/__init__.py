"""YAML from strangers, for every kind of document: read in time that grows with its length, within bounds.

PyYAML's parser is used and nothing of its constructors: ``reading`` gives the parser's events and nodes within
``Bounds``, ``scalars`` says what a plain scalar means, ``values`` gives what JSON can say, and ``writing`` quotes what
would be read otherwise. All read as kube-scheduler and kubectl do (go-yaml: YAML 1.1 without numbers of base 60). Each
kind of document words the refusals itself.
"""
