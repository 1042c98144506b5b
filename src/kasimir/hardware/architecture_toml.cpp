// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/architecture.h"
#include "kasimir/hardware/parse_toml.h"
#include "kasimir/hardware/quantity.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

namespace kasimir {
namespace {

template <typename Owner>
struct Field {
  std::string_view key;
  Quantity quantity;
  double Owner::* member;
};

constexpr Field<MemoryLevel> level_fields[] = {
    {"capacity", Quantity::size, &MemoryLevel::capacity_bits},
    {"bandwidth", Quantity::bandwidth, &MemoryLevel::bandwidth},
    {"read_bandwidth", Quantity::bandwidth, &MemoryLevel::read_bandwidth},
    {"write_bandwidth", Quantity::bandwidth, &MemoryLevel::write_bandwidth},
    {"read_energy", Quantity::energy, &MemoryLevel::read_pj},
    {"write_energy", Quantity::energy, &MemoryLevel::write_pj},
    {"access_energy_per_kib", Quantity::energy_per_kib, &MemoryLevel::access_pj_per_kib},
    {"read_energy_per_bit", Quantity::energy_per_bit, &MemoryLevel::read_pj_per_bit},
    {"write_energy_per_bit", Quantity::energy_per_bit, &MemoryLevel::write_pj_per_bit},
    {"hop_energy", Quantity::energy_per_bit, &MemoryLevel::hop_pj_per_bit},
    {"leakage", Quantity::power, &MemoryLevel::leakage_mw},
    {"area", Quantity::area, &MemoryLevel::area_um2},
    {"area_per_kib", Quantity::area_per_kib, &MemoryLevel::area_um2_per_kib},
};

constexpr Field<ComputeUnit> compute_fields[] = {
    {"energy", Quantity::energy, &ComputeUnit::energy_pj},
    {"area", Quantity::area, &ComputeUnit::area_um2},
    {"leakage", Quantity::power, &ComputeUnit::leakage_mw},
};

constexpr std::string_view role_names[] = {"input", "weight", "output"};
constexpr std::string_view partition_keys[] = {"capacity_input", "capacity_weight", "capacity_output"};
constexpr std::string_view buffering_names[] = {"overlapped", "double", "single"};
constexpr std::string_view systolic_names[] = {"none", "input", "weight", "output"};
constexpr std::string_view engine_names[] = {"fixed", "bit_serial", "bit_serial_both", "bit_fusion", "dsp48",
                                             "dsp58", "lut"};

std::vector<std::string> strings(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

/// One table of the file: each key that is asked for is taken; `close` refuses the others.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string what, const std::string& file, std::string outer_source)
      : table_(table), what_(std::move(what)), file_(file), source_(std::move(outer_source)) {
    const std::string own = text("source");
    if (!own.empty()) source_ = own;
    own_source_ = own;
  }

  void clock(double mhz) { clock_mhz_ = mhz; }
  [[nodiscard]] const std::string& own_source() const { return own_source_; }
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::map<std::string, std::string>& sources() const { return sources_; }

  std::string text(std::string_view key);
  std::string needed_text(std::string_view key);
  bool flag(std::string_view key, bool otherwise);
  double plain(std::string_view key, double otherwise);
  std::int64_t count(std::string_view key, std::int64_t otherwise);
  void quantity(std::string_view key, Quantity quantity, double& value);
  double frequency(std::string_view key, double otherwise);
  template <typename Enum>
  Enum choice(std::string_view key, std::span<const std::string_view> names, Enum otherwise);
  RoleSet roles(std::string_view key, RoleSet otherwise);
  const toml::table* table(std::string_view key);
  std::vector<const toml::table*> tables(std::string_view key);
  void close();
  /// For tables whose numbers all share one source.
  void refuse_own_sources() const {
    if (!sources_.empty()) fail(table_, fmt::format("`{}` cannot have a source of its own", sources_.begin()->first));
  }
  [[noreturn]] void fail(const toml::node& node, std::string message) const { fail_at(node.source(), message); }
  [[noreturn]] void fail_at(const toml::source_region& where, std::string message) const {
    throw Error(Fault::input, fmt::format("{}: {}", what_, std::move(message)))
        .note(fmt::format("{}:{}:{}", file_, where.begin.line, where.begin.column));
  }

 private:
  const toml::node* take(std::string_view key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  /// The value itself, of a number that may be written { value = .., source = .. }.
  const toml::node* number(std::string_view key);

  const toml::table& table_;
  std::string what_;
  const std::string& file_;
  std::string source_;
  std::string own_source_;
  std::map<std::string, std::string> sources_;
  std::vector<std::string> known_;
  double clock_mhz_ = 0;
};

std::string TableReader::text(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return {};
  const auto* value = node->as_string();
  if (value == nullptr) fail(*node, fmt::format("`{}` must be a text", key));
  return value->get();
}

std::string TableReader::needed_text(std::string_view key) {
  std::string value = text(key);
  if (value.empty()) fail(table_, fmt::format("`{}` is missing", key));
  return value;
}

bool TableReader::flag(std::string_view key, bool otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr) return otherwise;
  const auto* value = node->as_boolean();
  if (value == nullptr) fail(*node, fmt::format("`{}` must be true or false", key));
  return value->get();
}

const toml::node* TableReader::number(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return nullptr;
  if (const toml::table* pair = node->as_table()) {
    const toml::node* value = pair->get("value");
    const auto origin = pair->get_as<std::string>("source");
    if (value == nullptr || origin == nullptr || pair->size() != 2)
      fail(*node, fmt::format("`{}` must be a number or {{ value = .., source = .. }}", key));
    sources_[std::string(key)] = origin->get();
    return value;
  }
  if (source_.empty())
    fail(*node, fmt::format("`{}` has no source: add `source = \"...\"` to the table or to the number", key));
  return node;
}

double TableReader::plain(std::string_view key, double otherwise) {
  const toml::node* node = number(key);
  if (node == nullptr) return otherwise;
  const auto value = node->value<double>();
  if (!value || node->is_string()) fail(*node, fmt::format("`{}` must be a plain number", key));
  return *value;
}

std::int64_t TableReader::count(std::string_view key, std::int64_t otherwise) {
  const toml::node* node = number(key);
  if (node == nullptr) return otherwise;
  const auto* value = node->as_integer();
  if (value == nullptr) fail(*node, fmt::format("`{}` must be a whole number", key));
  return value->get();
}

void TableReader::quantity(std::string_view key, Quantity quantity, double& value) {
  const toml::node* node = number(key);
  if (node == nullptr) return;
  const auto* written = node->as_string();
  const auto parsed = parse_quantity(written == nullptr ? "" : written->get(), quantity, clock_mhz_);
  if (!parsed) fail(*node, fmt::format("`{}` must be a text of a number and a unit: {}", key, unit_list(quantity)));
  value = *parsed;
}

double TableReader::frequency(std::string_view key, double otherwise) {
  const toml::node* node = number(key);
  if (node == nullptr) return otherwise;
  const auto* written = node->as_string();
  const std::string text = written == nullptr ? "" : written->get();
  const std::size_t space = text.find(' ');
  const auto parsed = parse_number(std::string_view(text).substr(0, space));
  const std::string_view name = space == std::string::npos ? "" : trim(std::string_view(text).substr(space));
  if (parsed && name == "MHz") return *parsed;
  if (parsed && name == "GHz") return *parsed * 1000;
  fail(*node, fmt::format("`{}` must be a text of a number and a unit: `MHz`, `GHz`", key));
}

template <typename Enum>
Enum TableReader::choice(std::string_view key, std::span<const std::string_view> names, Enum otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr) return otherwise;
  const auto* value = node->as_string();
  for (std::size_t i = 0; value != nullptr && i < names.size(); ++i)
    if (value->get() == names[i]) return static_cast<Enum>(i);
  fail(*node, fmt::format("`{}` must be one of {}", key, join(strings(names), ", ")));
}

RoleSet TableReader::roles(std::string_view key, RoleSet otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr) return otherwise;
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(*node, fmt::format("`{}` must be a list of input, weight, output", key));
  RoleSet set = 0;
  for (const toml::node& entry : *list) {
    const auto* name = entry.as_string();
    std::size_t role = 0;
    while (role < 3 && (name == nullptr || name->get() != role_names[role])) ++role;
    if (role == 3) fail(entry, fmt::format("`{}` must be a list of input, weight, output", key));
    set = static_cast<RoleSet>(set | role_bit(static_cast<OperandRole>(role)));
  }
  return set;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = take(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) fail(*node, fmt::format("`{}` must be a table", key));
  return node->as_table();
}

std::vector<const toml::table*> TableReader::tables(std::string_view key) {
  const toml::node* node = take(key);
  std::vector<const toml::table*> found;
  if (node == nullptr) return found;
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(*node, fmt::format("`{}` must be a list of tables", key));
  for (const toml::node& entry : *list) {
    if (!entry.is_table()) fail(entry, fmt::format("`{}` must be a list of tables", key));
    found.push_back(entry.as_table());
  }
  return found;
}

void TableReader::close() {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    try {
      fail_at(key.source(), fmt::format("unknown key `{}`", name));
    } catch (Error& error) {
      throw error.note(suggestion(name, known_));
    }
  }
}

FanOut read_fan_out(TableReader& level, std::string_view key, const std::string& file, const std::string& what) {
  FanOut fan;
  const toml::table* table = level.table(key);
  if (table == nullptr) return fan;
  TableReader reader(*table, fmt::format("{}, {}", what, key), file, level.source());
  fan.size = reader.count("size", 1);
  fan.multicast = reader.flag("multicast", true);
  fan.reduction = reader.flag("reduction", true);
  fan.shares = reader.roles("shares", 0);
  reader.refuse_own_sources();
  reader.close();
  return fan;
}

MemoryLevel read_level(const toml::table& table, const std::string& file, const std::string& source, double clock) {
  const std::string name = table["name"].value_or(std::string("without name"));
  const std::string what = "level " + name;
  TableReader reader(table, what, file, source);
  reader.clock(clock);
  MemoryLevel level;
  level.name = reader.needed_text("name");
  for (const auto& field : level_fields) reader.quantity(field.key, field.quantity, level.*field.member);
  for (std::size_t role = 0; role < 3; ++role)
    reader.quantity(partition_keys[role], Quantity::size, level.partition_bits[role]);
  level.keeps = reader.roles("keeps", all_roles);
  level.buffering = reader.choice("buffering", buffering_names, Buffering::overlapped);
  level.x = read_fan_out(reader, "x", file, what);
  level.y = read_fan_out(reader, "y", file, what);
  level.share_overlaps = reader.flag("share_overlaps", false);
  level.block_ram = reader.flag("block_ram", false);
  level.systolic = reader.choice("systolic", systolic_names, Systolic::none);
  level.source = reader.own_source();
  level.sources = reader.sources();
  reader.close();
  return level;
}

ComputeUnit read_compute(const toml::table& table, const std::string& file, const std::string& source) {
  TableReader reader(table, "compute", file, source);
  ComputeUnit unit;
  unit.engine = reader.choice("engine", engine_names, MacEngine::fixed);
  unit.input_bits = static_cast<int>(reader.count("input_bits", 8));
  unit.weight_bits = static_cast<int>(reader.count("weight_bits", 8));
  unit.operations_per_cycle = reader.plain("operations_per_cycle", 1);
  for (const auto& field : compute_fields) reader.quantity(field.key, field.quantity, unit.*field.member);
  unit.gates_operands = reader.flag("gates_operands", false);
  for (const toml::table* entry : reader.tables("precision")) {
    TableReader line(*entry, "compute, precision", file, reader.source());
    PrecisionEntry precision;
    precision.input_bits = static_cast<int>(line.count("input_bits", 8));
    precision.weight_bits = static_cast<int>(line.count("weight_bits", 8));
    precision.operations_per_cycle = line.plain("operations_per_cycle", 1);
    line.quantity("energy", Quantity::energy, precision.energy_pj);
    line.quantity("area", Quantity::area, precision.area_um2);
    line.refuse_own_sources();
    line.close();
    unit.table.push_back(precision);
  }
  unit.source = reader.own_source();
  unit.sources = reader.sources();
  reader.close();
  return unit;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw input_error("not TOML: {}", error.description())
        .note(fmt::format("{}:{}:{}", file, error.source().begin.line, error.source().begin.column));
  }
}

Architecture parse_architecture(std::string_view toml, const std::string& file) {
  const toml::table root = parse_toml(toml, file);
  TableReader reader(root, "architecture", file, "");
  Architecture architecture;
  architecture.name = reader.needed_text("name");
  architecture.clock_mhz = reader.frequency("clock", 1000);
  const std::string source = reader.own_source();
  for (const toml::table* table : reader.tables("level"))
    architecture.levels.push_back(read_level(*table, file, source, architecture.clock_mhz));
  if (const toml::table* table = reader.table("compute")) architecture.compute = read_compute(*table, file, source);
  architecture.source = source;
  architecture.sources = reader.sources();
  reader.close();
  check_architecture(architecture);
  return architecture;
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

namespace {

class TomlWriter {
 public:
  TomlWriter(std::string& out, const std::map<std::string, std::string>& sources) : out_(out), sources_(sources) {}

  void line(std::string_view key, const std::string& value) {
    const auto found = sources_.find(std::string(key));
    if (found == sources_.end())
      out_ += fmt::format("{} = {}\n", key, value);
    else
      out_ += fmt::format("{} = {{ value = {}, source = {} }}\n", key, value, toml_string(found->second));
  }
  template <typename Owner>
  void fields(std::span<const Field<Owner>> all, const Owner& owner) {
    const Owner usual;
    for (const Field<Owner>& field : all)
      if (owner.*field.member != usual.*field.member) quantity(field.key, field.quantity, owner.*field.member);
  }
  void quantity(std::string_view key, Quantity quantity, double value) {
    line(key, fmt::format("\"{} {}\"", value, unit_of(quantity)));
  }
  void roles(std::string_view key, RoleSet set) { line(key, role_list(set)); }
  static std::string role_list(RoleSet set) {
    std::vector<std::string> names;
    for (std::size_t role = 0; role < 3; ++role)
      if ((set & role_bit(static_cast<OperandRole>(role))) != 0) names.push_back(toml_string(role_names[role]));
    return "[" + join(names, ", ") + "]";
  }
  void fan_out(std::string_view key, const FanOut& fan) {
    if (fan == FanOut{}) return;
    std::string text = fmt::format("{{ size = {}", fan.size);
    if (!fan.multicast) text += ", multicast = false";
    if (!fan.reduction) text += ", reduction = false";
    if (fan.shares != 0) text += ", shares = " + role_list(fan.shares);
    line(key, text + " }");
  }

 private:
  std::string& out_;
  const std::map<std::string, std::string>& sources_;
};

void write_level(std::string& out, const MemoryLevel& level) {
  out += "\n[[level]]\n";
  TomlWriter writer(out, level.sources);
  writer.line("name", toml_string(level.name));
  if (!level.source.empty()) writer.line("source", toml_string(level.source));
  if (level.keeps != all_roles) writer.roles("keeps", level.keeps);
  writer.fields<MemoryLevel>(level_fields, level);
  for (std::size_t role = 0; role < 3; ++role)
    if (!std::isinf(level.partition_bits[role]))
      writer.quantity(partition_keys[role], Quantity::size, level.partition_bits[role]);
  if (level.buffering != Buffering::overlapped)
    writer.line("buffering", toml_string(buffering_names[static_cast<std::size_t>(level.buffering)]));
  writer.fan_out("x", level.x);
  writer.fan_out("y", level.y);
  if (level.share_overlaps) writer.line("share_overlaps", "true");
  if (level.block_ram) writer.line("block_ram", "true");
  if (level.systolic != Systolic::none)
    writer.line("systolic", toml_string(systolic_names[static_cast<std::size_t>(level.systolic)]));
}

void write_compute(std::string& out, const ComputeUnit& unit) {
  out += "\n[compute]\n";
  TomlWriter writer(out, unit.sources);
  if (!unit.source.empty()) writer.line("source", toml_string(unit.source));
  writer.line("engine", toml_string(engine_names[static_cast<std::size_t>(unit.engine)]));
  writer.line("input_bits", fmt::format("{}", unit.input_bits));
  writer.line("weight_bits", fmt::format("{}", unit.weight_bits));
  writer.line("operations_per_cycle", fmt::format("{}", unit.operations_per_cycle));
  writer.fields<ComputeUnit>(compute_fields, unit);
  if (unit.gates_operands) writer.line("gates_operands", "true");
  for (const PrecisionEntry& entry : unit.table)
    out += fmt::format(
        "[[compute.precision]]\ninput_bits = {}\nweight_bits = {}\noperations_per_cycle = {}\nenergy = \"{} pJ\"\n"
        "area = \"{} um2\"\n",
        entry.input_bits, entry.weight_bits, entry.operations_per_cycle, entry.energy_pj, entry.area_um2);
}

}  // namespace

std::string to_toml(const Architecture& architecture) {
  std::string out;
  TomlWriter writer(out, architecture.sources);
  writer.line("name", toml_string(architecture.name));
  if (!architecture.source.empty()) writer.line("source", toml_string(architecture.source));
  writer.line("clock", fmt::format("\"{} MHz\"", architecture.clock_mhz));
  for (const MemoryLevel& level : architecture.levels) write_level(out, level);
  write_compute(out, architecture.compute);
  return out;
}

}  // namespace kasimir
