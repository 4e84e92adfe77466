D=$1; mkdir -p $D/{empty,broken,list,fifo,noarch,zero,minus,huge,deep,utf16,bom,strings,nulls}
C='"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"hidden_size":1024,"num_attention_heads":16,"num_key_value_heads":8,"num_hidden_layers":4,"vocab_size":1000,"max_position_embeddings":4096,"head_dim":64,"intermediate_size":2048'
printf '{"a":' > $D/broken/config.json; printf '[1]' > $D/list/config.json; mkfifo $D/fifo/config.json $D/pipe.yaml
printf '{"model_type":"nobody"}' > $D/noarch/config.json
printf "{$C,\"num_attention_heads\":0}" > $D/zero/config.json
printf "{$C,\"num_hidden_layers\":-3}" > $D/minus/config.json
printf "{$C,\"num_hidden_layers\":1000000000}" > $D/huge/config.json
{ printf '{"a":'; head -c 200000 /dev/zero | tr '\0' '['; } > $D/deep/config.json
printf '\377\376{\0}\0' > $D/utf16/config.json; printf "\357\273\277{$C}" > $D/bom/config.json
printf '{"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"hidden_size":"1024","num_attention_heads":"16","num_hidden_layers":"4"}' > $D/strings/config.json
printf '{"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"hidden_size":null,"num_attention_heads":null,"num_hidden_layers":null}' > $D/nulls/config.json
printf 'GGUF\3\0\0\0\377\377\377\377\377\377\377\177\377\377\377\377\377\377\377\177' > $D/big.gguf; printf 'GGUF\3\0' > $D/cut.gguf
printf '{}' > $D/config.json; printf 'x' > $D/x.txt; printf 'a: [1' > $D/bad.yaml; printf -- '- a\n' > $D/list.yaml
{ printf 'a: &a [x,x,x,x,x,x,x,x,x,x]\n'; p=a; for n in b c d e f g h i j; do printf "$n: &$n [*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p]\n"; p=$n; done; } > $D/bomb.yaml
printf '{"args":["--model-path","Qwen/Qwen3-8B"]}\n' > $D/x.jsonl
printf 'mla_decode --nope\n' > $D/bad_cases.txt
{ printf 'paged_decode'; for i in $(seq 30); do printf ' --x {1|2|3|4}'; done; printf '\n'; } > $D/braces.txt
for n in 0 1; do printf "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --nnodes 2 --node-rank $n --dist-init-addr 10.0.0.1:5000\n" > $D/node$n.sh; done
printf "python -m sglang.launch_server --model-path 'x\n" > $D/unclosed.sh
printf 'while true; do python -m sglang.launch_server --model-path x; done\n' > $D/loop.sh
{ printf 'A=aaaaaaaaaa\n'; for i in $(seq 40); do printf 'A="$A$A$A$A"\n'; done; printf 'python -m sglang.launch_server --model-path $A\n'; } > $D/double.sh
{ printf 'python -m sglang.launch_server --model-path '; for i in $(seq 30); do printf '{a,b,c,d}'; done; printf '\n'; } > $D/braces.sh
mkdir -p $D/pipes/proc $D/pipes/sys/fs/cgroup $D/devices/proc/net; mkfifo $D/pipes/proc/meminfo $D/pipes/sys/fs/cgroup/memory.max
ln -s /dev/zero $D/devices/proc/meminfo; ln -s /dev/zero $D/devices/proc/net/tcp; ln -s loop $D/loop
head -c 4096 /dev/zero | tr '\0' '\377' > $D/binary; printf ',\nservices:' > $D/bad_manifest.yaml
{ printf 'services:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n'; p=a; for n in b c d e f g h i j; do printf "  $n: &$n [*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p]\n"; p=$n; done; } > $D/bomb_manifest.yaml
{ for i in $(seq 20000); do printf '$('; done; } > $D/deep.sh
printf 'services:\n  web:\n    image: nginx\n' > $D/compose_none.yaml
{ for i in $(seq 12000); do printf '# xpu-preflight: ignore=PL003\n'; done; for i in $(seq 50); do printf 'python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 3\n'; done; } > $D/comments.sh
