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
# Files that look like files and wait for whoever writes them, links to themselves, and configurations of everything at once.
mkdir -p $D/{waits,waits_index,waits_side,loops,wide,wide_part,labels,numbers,texts,nested,odd}
ln -s /proc/kmsg $D/waits/config.json; ln -s /proc/kmsg $D/waits.sh; ln -s /proc/kmsg $D/waits.gguf; ln -s /proc/kmsg $D/waits.jsonl; ln -s /proc/kmsg $D/waits.yaml
printf "{$C}" | tee $D/waits_index/config.json $D/waits_side/config.json $D/loops/config.json > /dev/null
ln -s /proc/kmsg $D/waits_index/model.safetensors.index.json
for f in generation_config.json tokenizer.json tokenizer_config.json hf_quant_config.json model.safetensors; do ln -s /proc/kmsg $D/waits_side/$f; done
for f in generation_config.json tokenizer.json model.safetensors model.safetensors.index.json; do ln -s $f $D/loops/$f; done
settings() { for i in $(seq $1); do printf '"k%d":%d,' $i $i; done; printf '"k":0'; }
printf "{$C,$(settings 600)}" > $D/wide/config.json; printf "{$C,\"vision_config\":{$(settings 600)}}" > $D/wide_part/config.json
printf "{$C,\"id2label\":{$(settings 600)}}" > $D/labels/config.json
printf "{$C,\"rope_theta\":1e999,\"rms_norm_eps\":-1e308,\"head_dim\":1.5}" > $D/numbers/config.json
printf "{$C,\"torch_dtype\":\"float1\",\"quantization_config\":\"fp8\",\"layer_types\":\"full\"}" > $D/texts/config.json
printf "{$C,\"text_config\":{\"text_config\":{\"text_config\":[]}}}" > $D/nested/config.json
printf "{$C,\"architectures\":[null,1,{}],\"auto_map\":[],\"quantization_config\":{\"quant_method\":[]}}" > $D/odd/config.json
serve='python -m sglang.launch_server --model-path Qwen/Qwen3-8B'
printf "\357\273\277$serve --tp 3\n" > $D/bom.sh; printf "$serve --tp 3\r\n" > $D/crlf.sh; printf "$serve --tp 3" | iconv -t UTF-16 > $D/utf16.sh
printf "$serve --served-model-name 'a\033]0;x\007b' --tp 3\n" > $D/escape.sh; printf "$serve --served-model-name \342\200\256evil --tp 3\n" > $D/bidi.sh
printf "$serve --served-model-name '::error::x' --tp 3\n" > $D/orders.sh; printf "$serve --served-model-name '</script><img src=x>|\`a\`' --tp 3\n" > $D/markup.sh
printf "HF_TOKEN=Zq7xTopSecret93\n$serve --served-model-name \$HF_TOKEN --tp 3\n" > $D/token.sh
printf "$serve --tp 3 <<E\n" > $D/open_here.sh; printf "$serve --tp \$((1/0))\n" > $D/zero.sh; printf "$serve --tp \${A?}\n" > $D/unset.sh; printf "$serve --tp \$((2**63))\n" > $D/overflow.sh
printf "f() { f; }\nf\n$serve\n" > $D/recursion.sh; printf "while :; do :; done\n$serve\n" > $D/forever.sh; printf ". $D/source.sh\n$serve\n" > $D/source.sh
printf 'services:\n  a:\n    extends: a\n    command: %s\n' "$serve" > $D/extends.yaml; printf 'include: extends_self.yaml\nservices:\n  a:\n    command: %s\n' "$serve" > $D/extends_self.yaml
printf 'services: [1, 2]\n' > $D/list_services.yaml; printf 'services:\n  ? [a]\n  : {command: %s}\n' "$serve" > $D/odd_key.yaml; printf 'services:\n  a:\n    command: {x: [%s]}\n' "$serve" > $D/dict_command.yaml
printf 'services:\n  a: &a\n    <<: *a\n    command: %s\n' "$serve" > $D/merge_self.yaml; printf 'a: !!python/object/apply:os.system [id]\nservices: {a: {command: %s}}\n' "$serve" > $D/tag.yaml
printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: ["a"]}\nspec: {containers: {a: 1}}\n# sglang.launch_server\n' > $D/pod.yaml
printf 'FROM x\nCMD ["python", "-m", "sglang.launch_server", 1]\n' > $D/Dockerfile; printf 'X = $(X)\nserve:\n\t%s --tp $(X)\n' "$serve" > $D/Makefile
printf '[Service]\nExecStart=/usr/bin/%s --tp 3\nExecStart=\n' "$serve" > $D/reset.service; printf '[Service\nExecStart=/usr/bin/%s\n' "$serve" > $D/broken.service
printf '{"cells":[{"cell_type":"code","source":"!%s --tp 3"},{"cell_type":1},null,"x"],"nbformat":4}' "$serve" > $D/odd.ipynb; printf '{"cells":{}}' > $D/dict.ipynb
printf 'import os\nos.system("%s --tp " + str(10 ** 10 ** 10))\n' "$serve" > $D/power.py; printf 'import os\nos.system("%s --tp 3"\n' "$serve" > $D/open.py; printf 'import os\nx = [x for x in iter(int, 1)]\nos.system("%s --tp 3")\n' "$serve" > $D/endless.py
printf 'x = "a" * 10 ** 12\nimport sglang\nsglang.Engine(model_path=x)\n' > $D/long.py; printf 'def f(): f()\nf()\nimport os\nos.system("%s --tp 3")\n' "$serve" > $D/recursion.py
printf "server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=3, api_key='topsecret'\n" > $D/cut.log
printf '{"id":1,"args":["--tp",2]}\n' > $D/number_words.jsonl; printf '{"id":1,"args":["--tp","2"],"args":[]}\n' > $D/twice.jsonl; printf '{"id":{"a":[]},"args":["--model-path","Qwen/Qwen3-8B"]}\n' > $D/odd_id.jsonl
printf '{"id":1,"args":["--model-path","Qwen/Qwen3-8B"],"device":{"count":-1}}\n' > $D/device.jsonl; printf '{"id":1,"args":["--config","{config}"],"config":"a: [1"}\n' > $D/config.jsonl; printf '[1]\n' > $D/no_case.jsonl
printf 'ignore: [PL003]\n' > $D/policy.yaml; printf 'ignore: {PL003: x}\n' > $D/policy_dict.yaml; printf 'ignore:\n- {rule: PL003, path: "[", reason: x}\n' > $D/policy_glob.yaml; printf 'version: 99\n' > $D/policy_version.yaml
printf '{"version":99,"findings":[]}' > $D/baseline_version.json; printf '{"version":1,"findings":[{"rule":1}]}' > $D/baseline_odd.json
printf '{"packages":"sglang"}' > $D/facts_text.json; printf '{"device":{"count":1e9}}' > $D/facts_count.json; printf '{"sglang":"9.9.9"}' > $D/facts_release.json
printf 'page_table --cache-seqlens 99999999999999999999\n' > $D/long_number.txt; printf 'mrope --tokens -1\nmrope --tokens 0\n' > $D/negative.txt; printf 'nope --tokens 1\n' > $D/no_kernel.txt
printf 'tp: 3\ntp: 4\n' > $D/twice.yaml; printf 'model-path: [a, b]\n' > $D/list_value.yaml; printf '"tp\\x00": 3\n' > $D/nul_key.yaml; printf 'tp: !!binary aGk=\n' > $D/binary_tag.yaml; printf 'config: %s\n' $D/self_config.yaml > $D/self_config.yaml; printf 'tp: .inf\n' > $D/inf.yaml
mkdir -p $D/make_token; ln -s node0.sh $D/node_link
printf 'HF_TOKEN := Zq7xTopSecret93\nserve:\n\t%s --served-model-name $(HF_TOKEN) --tp 3\n' "$serve" > $D/make_token/Makefile
printf '%s --served-model-name '"'"'[{"name": "HF_TOKEN", "value": "Zq7xTopSecret93"}]'"'"'\n' "$serve" > $D/named_token.sh
printf 'export AZURE_STORAGE_CONNECTION_STRING=Zq7xTopSecret93\n%s --tp 3\n' "$serve" > $D/connection.sh
printf '{%s}' "$(settings 600)" > $D/wide_alone.json
# Interpreters that answer what they like.
hostile() { printf '#!/bin/sh\n%s\n' "$2" > $D/hostile_$1.py; chmod +x $D/hostile_$1.py; }
hostile noise 'head -c 200000 /dev/urandom'; hostile null 'echo null'; hostile list 'echo []'; hostile kill 'kill -KILL $$'; hostile endless 'yes "{"'; hostile sleep 'sleep 60'
{ printf 'x: &b |\n  echo\n  # '; head -c 400000 /dev/zero | tr '\0' a; printf '\non: push\njobs:\n  a:\n    runs-on: x\n    steps:\n'; yes '    - run: *b' | head -n 20000; } > $D/long_alias.yaml
# Odd numbers and ends in files of supervisor, systemd, make, Docker, GitLab, Nomad and in logs and lists of words.
mkdir -p $D/forms/{make_word,make_call,make_self,make_wide,quote,backquote,stage,gitlab,wait_for}; ln -s nowhere $D/wait_for.sh; mkfifo $D/forms/wait_for/run.sh
printf '[program:a]\ncommand=%s --tp %%(process_num)d\nnumprocs=1000000000\nprocess_name=%%(process_num)d\n' "$serve" > $D/forms/many.conf
printf '[program:a]\ncommand=%s --tp %%\n' "$serve" > $D/forms/percent.conf; printf '[Container]\nExec=%s\nEnvironmentFile=/dev/zero\n' "$serve" > $D/forms/zero.container
printf '[Service]\nExecStart=/usr/bin/%s --tp %%Z\n' "$serve" > $D/forms/specifier.service; printf '#SBATCH --array=0-100000000\nsrun %s --tp $SLURM_ARRAY_TASK_ID\n' "$serve" > $D/forms/array.slurm
printf 'x = $(word 0,a)\nserve:\n\t%s --tp $x\n' "$serve" > $D/forms/make_word/Makefile; printf 'f = $(call f,$(1)x)\nserve:\n\t%s --tp $(call f,1)\n' "$serve" > $D/forms/make_call/Makefile
printf 'a = $(a)$(a)\nserve:\n\t%s --tp $(a)\n' "$serve" > $D/forms/make_self/Makefile; printf '$(foreach i,$(shell seq 100000000),$(i))\nserve:\n\t%s --tp 3\n' "$serve" > $D/forms/make_wide/Makefile
printf 'FROM a\nENV A=$A$A$A B\nCMD %s --tp $A\n' "$serve" > $D/forms/quote/Dockerfile; printf '# escape=`\nFROM a\nCMD %s `\n --tp 3\n' "$serve" > $D/forms/backquote/Dockerfile
printf 'a:\n  extends: b\n  script: ["%s"]\nb:\n  extends: a\n' "$serve" > $D/forms/gitlab/.gitlab-ci.yml; printf 'job "a" { group "b" { task "c" { config { command = "python" args = ["-m","sglang.launch_server","--tp",' > $D/forms/cut.nomad
printf "INFO server_args=ServerArgs(model_path='Qwen/Qwen3-8B', nope=<object at 0x1>)\n" > $D/forms/object.log; printf 'python\0-m\0sglang.launch_server\0--model-path\0Qwen/Qwen3-8B\0--tp\0' > $D/forms/cmdline; printf '\0\0\0' > $D/forms/nothing
printf '["python","-m","sglang.launch_server","--tp",["3"]]' > $D/forms/nested.json; printf 'for i in {1..999999999}; do %s --tp $i; done\n' "$serve" > $D/forms/brace.sh; printf 'printf -v x "%%*d" 2147483647 1; %s --tp ${#x}\n' "$serve" > $D/forms/star.sh
printf 'x=$((-9223372036854775808 / -1)); %s --tp $x\n' "$serve" > $D/forms/quotient.sh; printf 'import os\nos.system(f"%s --tp {3:>1000000000}")\n' "$serve" > $D/forms/pad.py; printf 'import os\nx = [[0] * 100000 for _ in range(100000)]\nos.system("%s --tp 3")\n' "$serve" > $D/forms/lists.py
