exec --facts tests/golden/machine.json -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --page-size 64 --chunked-prefill-size 1000
