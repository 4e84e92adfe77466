nodes --facts tests/golden/machine.json --device-count 8 tests/golden/nodes.yaml
