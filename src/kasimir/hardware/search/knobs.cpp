// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/hardware/parse_toml.h"
#include "kasimir/hardware/quantity.h"
#include "kasimir/hardware/search/architectures.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

struct KnobName {
  std::string_view key;  // as in an architecture's file
  std::string_view words;
  KnobKind kind;
  OperandRole role;
};

constexpr KnobName knob_names[] = {
    {"columns", "columns of {}", KnobKind::columns, OperandRole::input},
    {"rows", "rows of {}", KnobKind::rows, OperandRole::input},
    {"capacity", "capacity of {}", KnobKind::capacity, OperandRole::input},
    {"capacity_input", "capacity of {} for inputs", KnobKind::partition, OperandRole::input},
    {"capacity_weight", "capacity of {} for weights", KnobKind::partition, OperandRole::weight},
    {"capacity_output", "capacity of {} for outputs", KnobKind::partition, OperandRole::output},
    {"bandwidth", "bandwidth of {}", KnobKind::bandwidth, OperandRole::input},
    {"read_bandwidth", "read bandwidth of {}", KnobKind::read_bandwidth, OperandRole::input},
    {"write_bandwidth", "write bandwidth of {}", KnobKind::write_bandwidth, OperandRole::input},
};

const KnobName& name_of(const ArchitectureKnob& knob) {
  const auto found = std::find_if(std::begin(knob_names), std::end(knob_names), [&](const KnobName& name) {
    return name.kind == knob.kind && (knob.kind != KnobKind::partition || name.role == knob.role);
  });
  KASIMIR_CHECK(found != std::end(knob_names), "a knob of kind {}", static_cast<int>(knob.kind));
  return *found;
}

bool counts(KnobKind kind) { return kind == KnobKind::columns || kind == KnobKind::rows; }

Quantity quantity_of(KnobKind kind) {
  return kind == KnobKind::capacity || kind == KnobKind::partition ? Quantity::size : Quantity::bandwidth;
}

/// "columns", "scratchpad" of "scratchpad.columns".
ArchitectureKnob parse_name(std::string_view text, const Architecture& architecture) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos)
    throw input_error("`{}` is no parameter of an architecture: write LEVEL.WHAT, such as {}.capacity", text,
                      architecture.levels.back().name);
  const std::string_view level = text.substr(0, dot);
  const std::string_view key = text.substr(dot + 1);
  ArchitectureKnob knob;
  const int place = architecture.find_level(level);
  if (place < 0) {
    std::vector<std::string> levels;
    for (const MemoryLevel& known : architecture.levels) levels.push_back(known.name);
    throw input_error("{} has no level `{}`", architecture.name, level).note(suggestion(level, levels));
  }
  knob.level = static_cast<std::size_t>(place);
  for (const KnobName& name : knob_names) {
    if (name.key != key) continue;
    knob.kind = name.kind;
    knob.role = name.role;
    return knob;
  }
  std::vector<std::string> keys;
  for (const KnobName& name : knob_names) keys.emplace_back(name.key);
  throw input_error("`{}` is nothing of a level that can vary", key).note(suggestion(key, keys));
}

class ValueReader {
 public:
  ValueReader(const ArchitectureKnob& knob, std::string_view name, double clock_mhz)
      : knob_(knob), name_(name), clock_mhz_(clock_mhz) {}

  /// "8, 16", "8..64", "32..256 KiB", "16 B, 1 KiB".
  std::vector<double> list(std::string_view text) const {
    std::vector<std::string> parts;
    for (const std::string& part : split(text, ',')) parts.emplace_back(trim(part));
    const std::string unit = unit_of_text(parts.back());
    std::vector<double> values;
    for (const std::string& part : parts) {
      const std::string own = unit_of_text(part);
      const std::string_view bare = trim(std::string_view(part).substr(0, part.size() - own.size()));
      const std::size_t dots = bare.find("..");
      if (dots == std::string_view::npos) {
        values.push_back(value(bare, own.empty() ? unit : own));
        continue;
      }
      const double last = value(bare.substr(dots + 2), own.empty() ? unit : own);
      double at = value(bare.substr(0, dots), own.empty() ? unit : own);
      if (at > last) throw input_error("the values `{}` of {} go from more to less", part, name_);
      for (; at <= last * (1 + 1e-9); at *= 2) values.push_back(at);
    }
    return values;
  }

 private:
  static std::string unit_of_text(std::string_view text) {
    const std::size_t digit = text.find_last_of("0123456789");
    return std::string(trim(text.substr(digit == std::string_view::npos ? 0 : digit + 1)));
  }
  double value(std::string_view number, const std::string& unit) const {
    if (counts(knob_.kind)) {
      const auto parsed = parse_integer(trim(number));
      if (!parsed || *parsed < 1 || !unit.empty())
        throw input_error("`{}` is no value of {}: a whole number above 0 is needed",
                          unit.empty() ? std::string(number) : fmt::format("{} {}", number, unit), name_);
      return static_cast<double>(*parsed);
    }
    const Quantity quantity = quantity_of(knob_.kind);
    const auto parsed = parse_quantity(fmt::format("{} {}", trim(number), unit), quantity, clock_mhz_);
    if (!parsed || !(*parsed > 0))
      throw input_error("`{}` is no value of {}: a number above 0 and a unit are needed: {}",
                        trim(fmt::format("{} {}", number, unit)), name_, unit_list(quantity));
    return *parsed;
  }

  const ArchitectureKnob& knob_;
  std::string_view name_;
  double clock_mhz_;
};

ArchitectureKnob parse_parts(std::string_view name, std::string_view values, const Architecture& architecture) {
  ArchitectureKnob knob = parse_name(trim(name), architecture);
  knob.values = ValueReader(knob, trim(name), architecture.clock_mhz).list(values);
  return knob;
}

/// A text, a number, or a list of them, as the text of an option.
std::string values_text(const toml::node& node, std::string_view name) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) throw input_error("the values of {} are no text, number or list of them", name);
  std::vector<std::string> parts;
  for (const toml::node& entry : *list) {
    if (entry.is_array()) throw input_error("the values of {} are no text, number or list of them", name);
    parts.push_back(values_text(entry, name));
  }
  return join(parts, ",");
}

}  // namespace

ArchitectureKnob parse_knob(std::string_view text, const Architecture& architecture) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    throw input_error("`{}` gives no values: write LEVEL.WHAT=VALUES, such as {}.capacity=64..256 KiB", text,
                      architecture.levels.back().name);
  return parse_parts(text.substr(0, equals), text.substr(equals + 1), architecture);
}

std::vector<ArchitectureKnob> parse_knobs(std::string_view text, const std::string& file,
                                          const Architecture& architecture) {
  const toml::table root = parse_toml(text, file);
  const toml::table* vary = root["vary"].as_table();
  if (vary == nullptr || root.size() != 1)
    throw input_error("{} needs one table `[vary]` and nothing else", file)
        .note("with lines such as \"scratchpad.capacity\" = \"64..256 KiB\"");
  std::vector<ArchitectureKnob> knobs;
  for (const auto& [key, node] : *vary) {
    try {
      knobs.push_back(parse_parts(key.str(), values_text(node, key.str()), architecture));
    } catch (Error& error) {
      throw error.note(fmt::format("{}:{}", file, key.source().begin.line));
    }
  }
  return knobs;
}

std::string str(const ArchitectureKnob& knob, const Architecture& architecture) {
  return fmt::format(fmt::runtime(name_of(knob).words), architecture.levels[knob.level].name);
}

std::string value_text(const ArchitectureKnob& knob, double value) {
  if (counts(knob.kind)) return fmt::format("{:.0f}", value);
  if (quantity_of(knob.kind) == Quantity::bandwidth) return fmt::format("{:g} bit/cycle", value);
  if (value >= 8192) return fmt::format("{:g} KiB", value / 8192);
  return value >= 8 ? fmt::format("{:g} B", value / 8) : fmt::format("{:g} bit", value);
}

Architecture with_knobs(const Architecture& base, const std::vector<ArchitectureKnob>& knobs,
                        const std::vector<double>& values) {
  KASIMIR_CHECK(knobs.size() == values.size(), "{} knobs, {} values", knobs.size(), values.size());
  Architecture architecture = base;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].level >= architecture.levels.size())
      throw input_error("a knob is for level {}, the architecture has {}", knobs[k].level, architecture.levels.size());
    MemoryLevel& level = architecture.levels[knobs[k].level];
    const bool whole = counts(knobs[k].kind);
    if (!(values[k] > 0) || (whole && values[k] != std::floor(values[k])))
      throw input_error("{} cannot be {}: a {} number above 0 is needed", str(knobs[k], base), values[k],
                        whole ? "whole" : "finite");
    switch (knobs[k].kind) {
      case KnobKind::columns:
        level.x.size = static_cast<std::int64_t>(values[k]);
        break;
      case KnobKind::rows:
        level.y.size = static_cast<std::int64_t>(values[k]);
        break;
      case KnobKind::capacity:
        level.capacity_bits = values[k];
        break;
      case KnobKind::bandwidth:
        level.bandwidth = values[k];
        break;
      case KnobKind::read_bandwidth:
        level.read_bandwidth = values[k];
        break;
      case KnobKind::write_bandwidth:
        level.write_bandwidth = values[k];
        break;
      case KnobKind::partition:
        level.partition_bits[static_cast<std::size_t>(knobs[k].role)] = values[k];
        break;
    }
  }
  return architecture;
}

}  // namespace kasimir
