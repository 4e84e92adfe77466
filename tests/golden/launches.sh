#!/bin/bash
MODEL=Qwen/Qwen3-8B
for tp in 1 2; do
  python -m sglang.launch_server --model-path "$MODEL" --tp $tp --port $((30000 + tp)) &
done
python -m sglang.launch_server --model-path "$MODEL" --tp "$TP"
