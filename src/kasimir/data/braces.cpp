// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/data/webdataset.h"

#include <algorithm>
#include <optional>

namespace kasimir {
namespace {

constexpr std::size_t most_texts = 1000000;

bool all_digits(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// The texts of what is between braces: "000..012" or "a,b".
std::vector<std::string> choices(const std::string& inside, const std::string& pattern) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string::npos) return split(inside, ',');
  const std::string first = inside.substr(0, dots);
  const std::string last = inside.substr(dots + 2);
  if (!all_digits(first) || !all_digits(last) || std::stol(first) > std::stol(last))
    throw input_error("cannot read the range {{{}}} in `{}`", inside, pattern)
        .note("needed are two numbers, the lower first: {000..012}");
  if (std::stol(last) - std::stol(first) >= static_cast<long>(most_texts))
    throw input_error("`{}` stands for more than {} files", pattern, grouped(most_texts));
  std::vector<std::string> all;
  for (long i = std::stol(first); i <= std::stol(last); ++i) all.push_back(fmt::format("{:0{}}", i, first.size()));
  return all;
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& pattern) {
  std::vector<std::string> done{""};
  std::size_t from = 0;
  while (true) {
    const std::size_t open = pattern.find('{', from);
    for (std::string& text : done) text += pattern.substr(from, open == std::string::npos ? open : open - from);
    if (open == std::string::npos) return done;
    const std::size_t close = pattern.find('}', open);
    if (close == std::string::npos)
      throw input_error("`{}` has a brace without its partner", pattern).note("a range is written {000..012}");
    std::vector<std::string> longer;
    const auto all = choices(pattern.substr(open + 1, close - open - 1), pattern);
    if (done.size() * all.size() > most_texts)
      throw input_error("`{}` stands for more than {} files", pattern, grouped(most_texts));
    for (const std::string& text : done)
      for (const std::string& choice : all) longer.push_back(text + choice);
    done = std::move(longer);
    from = close + 1;
  }
}

}  // namespace kasimir
