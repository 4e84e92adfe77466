// Form of the generated tables: generated/config_tables.cpp, written by configs/transformers/embed.py.
#pragma once

#include <span>

#include "preflight/release.h"

namespace preflight::facts {

struct TextRow {
  const char* key;
  const char* text;  // a name, or JSON
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

}  // namespace preflight::facts
