check --no-kernel --facts tests/golden/machine.json -- --model-path meta-llama/Llama-3.1-70B-Instruct --tp 2
