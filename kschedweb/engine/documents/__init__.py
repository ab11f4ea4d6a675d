"""Documents of every kind: read within bounds in time that grows with their length, and described by tables of types.

Of PyYAML the parser is used, and nothing of its constructors: ``reading`` gives the parser's events within ``Bounds``,
``anchors`` says what aliases stand for, ``nodes`` makes nodes with marks, ``scalars`` says what a plain scalar means,
``values`` gives what JSON can say, ``marked`` the same with the place of each value, and ``writing`` quotes what would
be read otherwise. All read as kube-scheduler and kubectl do (go-yaml: YAML 1.1 without numbers of base 60). Each kind
of document words the refusals itself.

``types`` and ``leaves`` are what tables of documents are made of, ``json_schema`` makes schemas of these.
"""
