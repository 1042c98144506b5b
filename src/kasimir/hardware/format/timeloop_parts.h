// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/format/yaml.h"

#include <string>
#include <string_view>
#include <vector>

/// What the readers of Timeloop's files have in common.
namespace kasimir {

/// One of the parts of a file; the other known ones are passed over. @throws Error (input) if it is missing, or for a
/// part that is not known.
YamlMap timeloop_part(const YAML::Node& root, std::string_view part, const std::string& file);

/// @throws Error (input) if `version` is there and not one of these.
void check_timeloop_version(YamlMap& map, const std::vector<std::string>& known);

/// Whether a data space's name says that it is a weight.
bool named_as_weight(std::string_view name);

}  // namespace kasimir
