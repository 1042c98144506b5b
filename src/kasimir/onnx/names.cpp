// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/names.h"

#include "kasimir/base/text.h"

#include <fmt/format.h>

#include <vector>

namespace kasimir {
namespace {

constexpr std::size_t longest = 100;
constexpr std::size_t longest_scopes = 2000;  ///< they repeat the path at each step

/// One word of a path from a file.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, longest)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += letter || c == '_' || c == '-' || c == '.' ? c : '_';
  }
  std::vector<std::string> words;
  for (const std::string& word : split(result, '.'))
    if (!word.empty()) words.push_back(word);
  return join(words, ".");
}

/// PyTorch's names repeat the path of each scope: "/layer1/layer1.0/relu/Relu" is "layer1.0.relu".
std::string from_scopes(std::string_view name, std::string_view op) {
  std::string path;
  std::vector<std::string> words = split(name.substr(0, longest_scopes), '/');
  std::string number;
  if (words.size() > 2 && (words.back() == op || words.back().starts_with(std::string(op) + "_"))) {
    number = plain(words.back().substr(op.size()));
    words.pop_back();
  }
  for (const std::string& part : words) {
    const std::string word = plain(part);
    if (word.empty()) continue;
    if (path.empty() || word.starts_with(path + "."))
      path = word;
    else
      path += "." + word;
  }
  // Each beginning of a path is kept, to tell paths from names.
  path = plain(path);
  return path.empty() ? path : path + number;
}

}  // namespace

std::string LayerNames::of(std::string_view node, std::string_view op, std::string_view weight) {
  constexpr std::string_view ending = ".weight";
  if (weight.size() > ending.size() && weight.ends_with(ending)) {
    const std::string name = plain(weight.substr(0, weight.size() - ending.size()));
    if (!name.empty()) return fresh(name);
  }
  const std::string name = from_scopes(node, op);
  return fresh(name.empty() ? "layer" : name);
}

std::string LayerNames::fresh(const std::string& wish) {
  const auto beginnings = [](const std::string& name) {
    std::vector<std::string> all;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      all.push_back(name.substr(0, dot));
    return all;
  };
  const auto usable = [&](const std::string& name) {
    if (taken_.contains(name) || paths_.contains(name)) return false;
    for (const std::string& beginning : beginnings(name))
      if (taken_.contains(beginning)) return false;
    return true;
  };
  std::string flat = wish;
  for (const std::string& beginning : beginnings(wish))
    if (taken_.contains(beginning)) {
      for (char& c : flat)
        if (c == '.') c = '_';
      break;
    }
  std::string name = flat;
  int& number = numbers_.try_emplace(flat, 1).first->second;
  while (!usable(name)) name = fmt::format("{}_{}", flat, ++number);
  taken_.insert(name);
  for (std::string& beginning : beginnings(name)) paths_.insert(std::move(beginning));
  return name;
}

}  // namespace kasimir
