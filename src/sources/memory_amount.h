// Amounts of memory as containers' tools write them: 64g, 64Gi, 64000M.
//
// Sources: docker/go-units size.go (RAMInBytes: docker, podman and compose); Kubernetes' resource.Quantity; sbatch(1),
// --mem. Tested by container_host_test.cpp and sources_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace preflight::sources {

// nullopt: no such amount, or none that is a limit (0 and less are none).
std::optional<std::uint64_t> bytes_of_docker(std::string_view text);
std::optional<std::uint64_t> bytes_of_kubernetes(std::string_view text);
std::optional<std::uint64_t> bytes_of_slurm(std::string_view text);

}  // namespace preflight::sources
