// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/successors.h"

#include "kasimir/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>

namespace kasimir {
namespace {

/// The weight, or something that is none.
double weight_of(const std::string& word) {
  double weight = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), weight);
  return error == std::errc() && end == word.data() + word.size() ? weight : 0.0;
}

void check_name(const std::string& name, Catalog catalog, int line) {
  if (find_primitive(catalog, name) != nullptr) return;
  const auto known = primitive_names(catalog);
  throw input_error("line {} of the successors names the unknown primitive `{}`, {}", line, name,
                    suggestion(name, known));
}

}  // namespace

std::vector<Successor> parse_successors(std::string_view text, Catalog catalog) {
  std::vector<Successor> successors;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    const std::vector<std::string> found{std::istream_iterator<std::string>(words), {}};
    if (found.empty()) continue;
    const double weight = found.size() == 3 ? weight_of(found[2]) : 0.0;
    if (!(weight > 0.0 && std::isfinite(weight)))
      throw input_error("line {} of the successors is `{}`; it must be PRODUCER CONSUMER WEIGHT, with a weight above 0",
                        number, line);
    if (found[0] != successor_input) check_name(found[0], catalog, number);
    check_name(found[1], catalog, number);
    if (std::ranges::any_of(successors, [&](const Successor& other) {
          return other.producer == found[0] && other.consumer == found[1];
        }))
      throw input_error("line {} of the successors repeats `{} {}`", number, found[0], found[1]);
    successors.push_back({found[0], found[1], weight});
  }
  return successors;
}

std::string str(std::span<const Successor> successors) {
  std::string text;
  for (const Successor& one : successors) text += fmt::format("{} {} {:g}\n", one.producer, one.consumer, one.weight);
  return text;
}

std::vector<Successor> count_successors(std::span<const Kernel> kernels) {
  std::map<std::pair<std::string, std::string>, double> counts;
  for (const Kernel& kernel : kernels)
    for (const Step& step : kernel.steps)
      for (const int operand : step.operands) {
        const std::string_view producer =
            operand == 0 ? successor_input : kernel.steps[static_cast<std::size_t>(operand) - 1].primitive->name;
        counts[{std::string(producer), std::string(step.primitive->name)}] += 1.0;
      }
  std::vector<Successor> successors;
  for (const auto& [pair, count] : counts) successors.push_back({pair.first, pair.second, count});
  return successors;
}

std::vector<Successor> default_successors() {
  return {
#include "kasimir/synth/successors.inc"
  };
}

}  // namespace kasimir
