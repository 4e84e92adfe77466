facts --facts tests/golden/machine.json -- --model-path Qwen/Qwen3-8B
