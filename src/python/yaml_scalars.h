// YAML 1.1 scalars as PyYAML's SafeConstructor turns them into Python objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/python/yaml_objects.h"

namespace preflight::python {

// Fills `object` from a scalar's tag and text. False when PyYAML has no constructor for the tag. Throws YamlFault
// where the constructor raises (a month 13, "!!int x").
bool construct_scalar(std::string_view tag, std::string_view text, YamlObject& object);

// str() of an integer given by digits in another base; empty digits and bad digits give nullopt.
std::optional<std::string> decimal_digits(std::string_view digits, unsigned base);

}  // namespace preflight::python
