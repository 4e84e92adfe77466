// What a job of Slurm may use of a node: its cards and its memory, by the options that ask for them.
//
// Source: slurm.schedmd.com, sbatch and srun (--gres, --gpus-per-node, --gpus, --mem, --exclusive). Tested by
// tests/sources_test.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "src/facts/container_view.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// The lines #SBATCH in front of the first command of a script; `host` is left as it is where they say nothing.
void take_job_lines(std::string_view script, facts::ContainerView& host);
// Options of words[at] (sbatch, srun, salloc) in front of words[to], over those lines of the script that it is handed.
void take_job_options(const std::vector<ShellWord>& words, std::size_t at, std::size_t to, facts::ContainerView& host,
                      std::string_view script = {});

}  // namespace preflight::sources
