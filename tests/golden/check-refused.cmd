check --no-kernel --facts tests/golden/machine.json -- --model-path Qwen/Qwen3-8B --page-size 64 --chunked-prefill-size 1000
