#include "src/kernels/gpu_form.h"

#include "src/kernels/blocks.h"

std::optional<preflight::GpuForm> preflight::gpu_form(const tiles::Product& product, DType queries, DType cache,
                                                      const DeviceInfo& device) {
  if (device.is_cpu) return std::nullopt;
  constexpr std::int64_t kEngineBytes = 2;
  if (size_of(queries) == kEngineBytes && cache == queries) {
    if (const auto shape = tiles::choose(product, device)) {
      return GpuForm{shape->build_options(), shape->lanes(), shape->rows()};
    }
  }
  const blocks::Shape shape = blocks::choose(product, device);
  return GpuForm{shape.build_options(), shape.lanes(), shape.rows};
}
