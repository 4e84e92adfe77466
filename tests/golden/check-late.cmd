check --no-kernel --facts tests/golden/machine.json -- --model-path deepseek-ai/DeepSeek-V2-Lite-Chat --trust-remote-code --tp 2 --decode-attention-backend intel_xpu --page-size 128
