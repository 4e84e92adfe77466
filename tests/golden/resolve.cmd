resolve --facts tests/golden/machine.json -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32
