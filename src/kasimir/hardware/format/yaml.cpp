// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/format/yaml.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>

namespace kasimir {
namespace {

std::string place(const YAML::Mark& mark, const std::string& file) {
  return mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

std::string underscored(std::string key) {
  std::ranges::replace(key, '-', '_');
  return key;
}

double factor(std::string_view word, const YamlVariables& variables, const YAML::Node& node, const std::string& file) {
  if (const auto number = parse_number(word)) return *number;
  const auto found = variables.find(std::string(word));
  if (found == variables.end()) fail_at(node, file, fmt::format("`{}` is no number and no variable", word));
  return found->second;
}

double product(std::string_view text, const YamlVariables& variables, const YAML::Node& node, const std::string& file) {
  double value = 1;
  char join = '*';
  while (true) {
    const std::size_t end = text.find_first_of("*/");
    const double next = factor(trim(text.substr(0, end)), variables, node, file);
    value = join == '*' ? value * next : value / next;
    if (end == std::string_view::npos) return value;
    join = text[end];
    text.remove_prefix(end + 1);
  }
}

}  // namespace

YAML::Node load_yaml(std::string_view text, const std::string& file) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    throw input_error("not YAML: {}", error.msg).note(place(error.mark, file));
  }
}

void fail_at(const YAML::Node& node, const std::string& file, std::string message) {
  throw Error(Fault::input, std::move(message))
      .note(place(node.IsDefined() ? node.Mark() : YAML::Mark::null_mark(), file));
}

std::vector<std::string> yaml_words(const YAML::Node& node, const std::string& file) {
  std::vector<std::string> words;
  if (node.IsSequence()) {
    for (const YAML::Node& entry : node) {
      if (!entry.IsScalar()) fail_at(entry, file, "expected a list of names");
      words.emplace_back(trim(entry.Scalar()));
    }
  } else if (node.IsScalar()) {
    std::string text = node.Scalar();
    std::ranges::replace(text, ',', ' ');
    for (const std::string& word : split(text, ' '))
      if (!trim(word).empty()) words.emplace_back(trim(word));
  } else if (!node.IsNull()) {
    fail_at(node, file, "expected a list of names");
  }
  return words;
}

YamlMap::YamlMap(const YAML::Node& node, std::string what, const std::string& file)
    : node_(node), what_(std::move(what)), file_(file) {
  if (!node.IsDefined() || !node.IsMap()) fail(node, "expected keys and values");
  add(node, false);
}

void YamlMap::add(const YAML::Node& node, bool merged) {
  std::vector<YAML::Node> others;
  const std::size_t own = entries_.size();
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) fail(pair.first, "a key must be a text");
    if (pair.first.Scalar() == "<<") {
      others.push_back(pair.second);
      continue;
    }
    const std::string key = underscored(pair.first.Scalar());
    const auto known = std::ranges::find(entries_, key, &Entry::key);
    if (known == entries_.end()) {
      entries_.push_back({key, pair.first, pair.second, false});
    } else if (!merged || known - entries_.begin() >= static_cast<std::ptrdiff_t>(own)) {
      fail(pair.first, fmt::format("key `{}` is there twice", key));
    }
  }
  for (const YAML::Node& other : others) {
    const bool list = other.IsSequence();
    if (!list && !other.IsMap()) fail(other, "`<<` must name a map or a list of maps");
    if (!list) add(other, true);
    for (std::size_t i = 0; list && i < other.size(); ++i) {
      if (!other[i].IsMap()) fail(other, "`<<` must name a map or a list of maps");
      add(other[i], true);
    }
  }
}

YAML::Node YamlMap::get(std::string_view key) {
  known_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.taken = true;
    return entry.value;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

YAML::Node YamlMap::need(std::string_view key) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) fail(node_, fmt::format("`{}` is missing", key));
  return node;
}

std::string YamlMap::text(std::string_view key, std::string otherwise) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return otherwise;
  if (!node.IsScalar()) fail(node, fmt::format("`{}` must be a text", key));
  return node.Scalar();
}

std::int64_t YamlMap::whole(std::string_view key, std::int64_t otherwise) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return otherwise;
  const auto value = node.IsScalar() ? parse_integer(node.Scalar()) : std::nullopt;
  if (!value) fail(node, fmt::format("`{}` must be a whole number", key));
  return *value;
}

double YamlMap::number(std::string_view key, double otherwise, const YamlVariables& variables) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return otherwise;
  if (!node.IsScalar()) fail(node, fmt::format("`{}` must be a number", key));
  return product(node.Scalar(), variables, node, file_);
}

std::vector<std::pair<std::string, YAML::Node>> YamlMap::rest() {
  std::vector<std::pair<std::string, YAML::Node>> left;
  for (Entry& entry : entries_) {
    if (entry.taken) continue;
    entry.taken = true;
    left.emplace_back(entry.name.Scalar(), entry.value);
  }
  return left;
}

void YamlMap::close() const {
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const std::string key = entry.name.Scalar();
    throw input_error("{}: unknown key `{}`", what_, key)
        .note(place(entry.name.Mark(), file_))
        .note(suggestion(key, known_));
  }
}

void YamlMap::fail(const YAML::Node& node, std::string_view message) const {
  fail_at(node.IsDefined() ? node : node_, file_, fmt::format("{}: {}", what_, message));
}

}  // namespace kasimir
