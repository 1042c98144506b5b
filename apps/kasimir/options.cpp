// SPDX-License-Identifier: Apache-2.0
#include "kasimir/options.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/study/place.h"
#include "kasimir/synth/label_rules.h"

#include <cstdlib>

namespace kasimir {

void add_network_options(CLI::App& app, CommonOptions& options) {
  app.add_option("--network", options.network,
                 "network of the zoo (resnet8, resnet20, resnet18, vgg16, mobilenet_v2, densenet121) or an ONNX file, "
                 "model.onnx, whose weights are kept")
      ->capture_default_str();
  app.add_option("--width", options.width, "multiplies the network's channels")->capture_default_str();
  app.add_option("--replace", options.replace,
                 "convolutions to replace, by name; * and ? match (default: windows above 1x1, stems not)");
  app.add_option("--keep", options.keep, "convolutions to keep, by name; * and ? match");
}

void add_kernel_options(CLI::App& app, CommonOptions& options) {
  app.add_option("--budget", options.budget,
                 "what a kernel may cost: macs=LOW..HIGH,params=LOW..HIGH, as fractions of what is replaced (at every "
                 "site) or, with k, M, G, absolute; none: anything");
  app.add_option("--primitives", options.primitives, "how many primitives a kernel has, as LOW..HIGH");
  app.add_option("--max-width", options.max_width, "most tensors that wait to be read, while a kernel grows")
      ->capture_default_str();
  app.add_option("--allow", options.allow, "only these primitives")->delimiter(',');
  app.add_option("--forbid", options.forbid, "not these primitives")->delimiter(',');
  app.add_option("--require", options.require, "each of these primitives at least once")->delimiter(',');
  app.add_flag("--allow-pointwise", options.allow_pointwise, "also kernels that see no other rows or no other columns");
  app.add_flag("--allow-unmixed", options.allow_unmixed, "also kernels in which an output does not see every channel");
  app.add_flag("--allow-resolution", options.allow_resolution, "also kernels whose weights depend on height or width");
  app.add_option("--want", options.want, label_rules_help())->capture_default_str();
  app.add_option("--seed", options.seed, "the same seed gives the same kernels")->capture_default_str();
}

double parse_seconds(const std::string& text) {
  double unit = 1.0;
  std::string_view number = text;
  if (!number.empty()) {
    const char last = number.back();
    unit = last == 'm' ? 60.0 : last == 'h' ? 3600.0 : 1.0;
    if (last == 's' || last == 'm' || last == 'h') number.remove_suffix(1);
  }
  const auto value = parse_number(number);
  if (!value || *value <= 0) throw input_error("`{}` is no span of time; write 90s, 40m or 1.5h", text);
  return *value * unit;
}

std::pair<int, int> parse_range(const std::string& text) {
  const auto dots = text.find("..");
  const auto low = parse_integer(text.substr(0, dots));
  const auto high = dots == std::string::npos ? low : parse_integer(text.substr(dots + 2));
  if (!low || !high || *low < 1 || *high < *low || *high > 1000)
    throw input_error("`{}` is no range; write 3..12", text);
  return {static_cast<int>(*low), static_cast<int>(*high)};
}

Shape3 parse_input(const std::string& text) { return text.empty() ? Shape3{} : Shape3::parse(text); }

std::string own_command() {
  auto words = split(read_file("/proc/self/cmdline"), '\0');
  words.front() = "kasimir";
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) {
    // Records are read by more people than a password is for.
    if (const study::StudyPlace place(word); place.on_server()) word = place.str();
    if (word.find_first_of(" *?;&|<>()$'\"") != std::string::npos) word = "'" + word + "'";
  }
  return join(words, " ");
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::filesystem::path tuning_cache_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != 0) return std::filesystem::path(cache) / "kasimir" / "tuning.txt";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == 0) return {};
  return std::filesystem::path(home) / ".cache" / "kasimir" / "tuning.txt";
}

}  // namespace kasimir
