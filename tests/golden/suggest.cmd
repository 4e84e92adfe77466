suggest Qwen/Qwen3-8B --facts tests/golden/machine.json
