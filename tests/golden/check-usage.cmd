check --no-kernel --facts tests/golden/machine.json -- --model-path Qwen/Qwen3-8B --page-szie 64
