// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernelzoo/entry.h"

#include "kasimir/base/text.h"
#include "kasimir/hardware/parse_toml.h"
#include "kasimir/kernelzoo/fields.h"

#include <algorithm>

namespace kasimir::kernelzoo {
namespace {

/// The lines of facts, every other line empty, so that places in messages are those of the file.
std::string facts_of(const std::vector<std::string>& lines) {
  std::string facts;
  for (const std::string& line : lines) facts += (line.starts_with("#:") ? "  " + line.substr(2) : "") + "\n";
  return facts;
}

/// The first comment, as one line; the line of the licence is none of it.
std::string brief_of(const std::vector<std::string>& lines) {
  std::string brief;
  for (const std::string& line : lines) {
    if (line.starts_with("# SPDX")) continue;
    if (!line.starts_with('#') || line.starts_with("#:")) break;
    const std::string_view words = trim(std::string_view(line).substr(1));
    if (!words.empty()) brief += (brief.empty() ? "" : " ") + std::string(words);
  }
  return brief;
}

/// Reads one table and refuses keys that nobody knows.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] Error wrong(const toml::node& node, std::string message) const {
    Error error(Fault::input, std::move(message));
    error.note(fmt::format("at {}:{}:{}", file_, node.source().begin.line, node.source().begin.column));
    return error;
  }

  [[nodiscard]] std::string text(std::string_view key, const toml::node& node) const {
    const auto value = node.value_exact<std::string>();
    if (!value || trim(*value).empty()) throw wrong(node, fmt::format("`{}` is a text in quotes", key));
    return *value;
  }

  void read(const Field& field, const toml::node& node, Result& result) const {
    std::visit([&](auto member) { take(field, node, result.*member); }, field.member);
  }

  void check_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table)
      if (std::ranges::find(known, key.str()) == known.end())
        throw wrong(node, fmt::format("unknown key `{}`, {}", key.str(), suggestion(key.str(), known)));
  }

 private:
  void take(const Field& field, const toml::node& node, std::string& to) const { to = text(field.key, node); }
  void take(const Field& field, const toml::node& node, std::optional<std::string>& to) const {
    to = text(field.key, node);
  }
  void take(const Field& field, const toml::node& node, std::vector<std::string>& to) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) throw wrong(node, fmt::format("`{}` is a list of texts, [\"..\"]", field.key));
    for (const toml::node& part : *list) to.push_back(text(field.key, part));
  }
  void take(const Field& field, const toml::node& node, std::optional<std::int64_t>& to) const {
    to = node.value_exact<std::int64_t>();
    if (!to || *to < 1) throw wrong(node, fmt::format("`{}` is a whole number of at least 1", field.key));
  }
  void take(const Field& field, const toml::node& node, std::optional<double>& to) const {
    to = node.is_number() ? node.value<double>() : std::nullopt;
    if (field.high == share && (!to || !(*to >= 0 && *to <= 1)))
      throw wrong(node, fmt::format("`{}` is a share from 0 to 1", field.key));
    if (!to || !(*to >= 0 && *to <= field.high) || (*to == 0 && field.high != share))
      throw wrong(node, fmt::format("`{}` is a number above 0", field.key));
  }

  std::string file_;
};

/// A number that means nothing without others.
struct Need {
  std::string_view of;
  std::string_view needs;
};
constexpr Need needs[] = {{"validation", "data"},
                          {"validation", "recipe"},
                          {"validation", "seeds"},
                          {"validation", "macs"},
                          {"validation", "params"},
                          {"validation", "original_validation"},
                          {"test", "validation"},
                          {"test", "original_test"},
                          {"latency_ms", "latency_ratio"},
                          {"original_ms", "latency_ratio"},
                          {"latency_ratio", "engine"},
                          {"latency_ratio", "machine"},
                          {"latency_ratio", "batch"},
                          {"latency_ratio", "threads"},
                          {"latency_ratio", "macs"},
                          {"cycles", "architecture"},
                          {"cycles", "original_cycles"},
                          {"energy_uj", "cycles"},
                          {"energy_uj", "original_energy_uj"}};

Result read_result(const toml::table& table, const Reader& reader) {
  std::vector<std::string> known;
  for (const Field& field : fields) known.emplace_back(field.key);
  reader.check_keys(table, known);
  Result result;
  for (const Field& field : fields)
    if (const toml::node* node = table.get(field.key)) reader.read(field, *node, result);
  for (const std::string_view key : {"network", "command"})
    if (!table.contains(key)) throw reader.wrong(table, fmt::format("a result needs `{}`", key));
  for (const Need& need : needs)
    if (table.contains(need.of) && !table.contains(need.needs))
      throw reader.wrong(*table.get(need.of), fmt::format("`{}` says nothing without `{}`", need.of, need.needs));
  if (result.engine && *result.engine != "native" && *result.engine != "eager")
    throw reader.wrong(*table.get("engine"), fmt::format("`engine` is native or eager, found `{}`", *result.engine));
  return result;
}

}  // namespace

Entry parse_entry(std::string text, Catalog catalog, const std::filesystem::path& file) {
  Entry entry;
  entry.file = file;
  const std::vector<std::string> lines = split(text, '\n');
  entry.kernel = parse_kernel(text, catalog, file.string());
  entry.brief = brief_of(lines);
  const toml::table facts = parse_toml(facts_of(lines), file.string());
  const Reader reader(file.string());
  reader.check_keys(facts, {"fingerprint", "result"});
  if (const toml::node* node = facts.get("fingerprint")) entry.fingerprint = reader.text("fingerprint", *node);
  if (const toml::node* node = facts.get("result")) {
    const toml::array* list = node->as_array();
    if (list == nullptr || !list->is_homogeneous<toml::table>())
      throw reader.wrong(*node, "`result` is a list of tables, each begun by a line `#: [[result]]`");
    for (const toml::node& part : *list) entry.results.push_back(read_result(*part.as_table(), reader));
  }
  entry.text = std::move(text);
  return entry;
}

}  // namespace kasimir::kernelzoo
