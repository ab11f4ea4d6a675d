"""Documents of every kind: read within bounds in time linear in their length, and described by tables of types.

Only PyYAML's parser is used, none of its constructors. ``yaml_events`` gives the parser's events within ``Bounds``,
``anchors`` resolves aliases, ``nodes`` builds nodes with marks, ``scalars`` resolves plain scalars, ``values`` gives
JSON values, ``marked_documents`` the same with the place of each value, and ``writing`` quotes text that would be read
as something else. All of them read as kube-scheduler and kubectl do (go-yaml: YAML 1.1 without numbers of base 60).
Each kind of document words its refusals itself.

``types`` and ``leaves`` are the parts of which tables of documents are made; ``json_schema`` makes schemas of them.
"""
