upgrade --from 0.5.13 --facts tests/golden/machine.json -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu
