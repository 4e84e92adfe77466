doctor --sglang-version 0.5.23 --sysroot tests/golden/host -- --model-path Qwen/Qwen3-8B --attention-backend intel_xpu
