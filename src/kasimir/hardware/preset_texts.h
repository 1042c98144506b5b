// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace kasimir {

struct PresetText {
  std::string_view name;  ///< of the file, without .toml
  std::string_view toml;
};

/// The files of hardware/presets, in alphabetical order.
std::span<const PresetText> preset_texts();

}  // namespace kasimir
