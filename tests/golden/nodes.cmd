nodes tests/golden/nodes.yaml
