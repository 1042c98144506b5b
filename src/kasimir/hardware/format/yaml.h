// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reading YAML whose every key must be known.
namespace kasimir {

/// Names that expressions may use.
using YamlVariables = std::map<std::string, double>;

/// The document. @throws Error (input) with line and column if it is not YAML.
YAML::Node load_yaml(std::string_view text, const std::string& file);

/// Stops with a message about a node. @throws Error (input), always.
[[noreturn]] void fail_at(const YAML::Node& node, const std::string& file, std::string message);

/// A node's values as texts: the entries of a list, or the words of a text (`K=4 C=2`, `K,C`).
std::vector<std::string> yaml_words(const YAML::Node& node, const std::string& file);

/// A map: each key that is asked for is taken, `close` refuses the others by name. `<<` joins the keys of other maps;
/// `-` and `_` are the same in a key (Timeloop changed from one to the other).
class YamlMap {
 public:
  /// `what` begins messages: "problem, shape". @throws Error (input) if the node is no map or a key is there twice.
  YamlMap(const YAML::Node& node, std::string what, const std::string& file);

  /// The value, or an undefined node.
  YAML::Node get(std::string_view key);
  /// @throws Error (input) if it is missing.
  YAML::Node need(std::string_view key);
  std::string text(std::string_view key, std::string otherwise);
  std::int64_t whole(std::string_view key, std::int64_t otherwise);
  /// A number, a variable, or such joined by `*` and `/`.
  double number(std::string_view key, double otherwise, const YamlVariables& variables = {});
  /// All keys that nobody has asked for yet, which are taken by this.
  std::vector<std::pair<std::string, YAML::Node>> rest();
  /// @throws Error (input) that names the first key that nobody asked for, with its line and near names.
  void close() const;

  [[noreturn]] void fail(const YAML::Node& node, std::string_view message) const;
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  struct Entry {
    std::string key;
    YAML::Node name, value;
    bool taken = false;
  };
  void add(const YAML::Node& node, bool merged);

  YAML::Node node_;
  std::string what_, file_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;
};

}  // namespace kasimir
