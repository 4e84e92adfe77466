// Form of the generated tables: generated/config_tables.cpp, written by configs/transformers/embed.py.
#pragma once

#include <cstdint>
#include <span>

#include "preflight/release.h"

namespace preflight::facts {

// By places, which the loader need not fix: tens of thousands of pointers took a quarter of a start.
struct TextRow {
  std::uint32_t key;   // place of a text
  std::uint32_t text;  // of a name, or of JSON
};

struct ReleaseTables {
  Release release;
  std::span<const TextRow> types;
  std::span<const TextRow> registry;
  std::span<const TextRow> settings;
  std::span<const TextRow> functions;
  std::span<const TextRow> classes;
};

// Ascending by release; rows ascending by key.
std::span<const ReleaseTables> release_tables();
const char* text_at(std::uint32_t place);

}  // namespace preflight::facts
