// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/architecture.h"
#include "kasimir/hardware/preset_texts.h"

namespace kasimir {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PresetText& text : preset_texts()) names.emplace_back(text.name);
  return names;
}

Architecture preset(std::string_view name) {
  for (const PresetText& text : preset_texts())
    if (text.name == name) return parse_architecture(text.toml, fmt::format("{}.toml", name));
  throw input_error("no preset is called `{}`", name).note(suggestion(name, preset_names()));
}

}  // namespace kasimir
