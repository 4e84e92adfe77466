pages --no-kernel --facts tests/golden/machine.json --svg {svg} -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu --page-size 32
