// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_int8.h"

#include "kasimir/search_spec.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/export_c.h"
#include "kasimir/codegen/int8_speed.h"
#include "kasimir/network/zoo.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace kasimir {
namespace {

/// Activations behind a batch norm are about 1 in size; the largest code of 8 bits is 5 then.
constexpr double activation_range = 5.0;

/// "resnet18-32x32": the network of the zoo for images of another size. Or an ONNX file.
Network sized_network(const std::string& text) {
  if (is_onnx_file(text)) return network_for(text, 1.0, {}, 0);
  const auto dash = text.find('-');
  const std::string name = text.substr(0, dash);
  ZooOptions options = zoo_record(name).defaults;
  if (dash != std::string::npos) {
    const auto parts = split(text.substr(dash + 1), 'x');
    const std::int64_t height = parse_integer(parts.front()).value_or(0);
    const std::int64_t width = parse_integer(parts.back()).value_or(0);
    if (parts.size() != 2 || height < 1 || width < 1)
      throw input_error("`{}` is no network with a size, such as resnet18-32x32", text);
    options.input = {options.input.c, height, width};
  }
  return zoo_network(name, options);
}

void write_program(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, const Quantization& quantization,
                   std::int64_t batch, const std::filesystem::path& folder) {
  COptions names;
  names.target = host_target();
  names.quantised = true;
  const auto made = network_as_c(plan, batch, weights, names, false, quantization);
  if (!made.ok()) throw input_error("{} cannot be written as C: {}", plan.network->name(), made.rejection().str());
  make_folder(folder);
  write_file(folder / "net.h", made->made.c.header);
  write_file(folder / "net.c", made->made.c.source);
  write_file(folder / "net_main.c", c_main(names));
  write_floats(folder / "net.weights", made->weights);
}

nlohmann::json to_json(const TimeRatio& ratio) {
  return {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
}

std::string text_of(const TimeRatio& ratio) {
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", ratio.median, ratio.low, ratio.high);
}

}  // namespace

int bench_int8(const BenchInt8& options) {
  Table table({{"network", "", Table::Align::left},
               {"batch", ""},
               {"direct", "ms"},
               {"best", "ms"},
               {fmt::format("int{}", options.bits), "ms"},
               {"over direct", ""},
               {"over best", ""},
               {"rounds", ""}});
  for (const std::string& name : options.networks) {
    const Network network = sized_network(name);
    const NetworkPlan plan{&network, {}};
    const auto weights = random_weights(plan, 1);
    const double codes = IntegerFormat{options.bits, false, false}.highest();
    const Quantization quantization =
        quantization_for_speed(plan, weights, options.bits, options.bits, static_cast<float>(activation_range / codes));
    for (std::int64_t batch : options.batches) {
      if (!options.folder.empty())
        write_program(plan, weights, quantization, batch,
                      std::filesystem::path(options.folder) / fmt::format("{}-batch{}", name, batch));
      const auto speed = measure_int8(
          plan, weights, quantization,
          {.batch = batch, .seconds = options.seconds, .tune_seconds = options.tune_seconds, .native = {}});
      if (!speed.ok()) throw unsolved_error("{} at batch {}: {}", name, batch, speed.rejection().str());
      if (options.json) {
        fmt::print("{}\n", nlohmann::json{{"network", name},
                                          {"batch", batch},
                                          {"bits", options.bits},
                                          {"direct_ms", speed->direct_ms},
                                          {"best_ms", speed->best_ms},
                                          {"int8_ms", speed->int8_ms},
                                          {"over_direct", to_json(speed->over_direct)},
                                          {"over_best", to_json(speed->over_best)},
                                          {"rounds", speed->rounds},
                                          {"difference_from_loops", speed->difference}}
                               .dump());
        std::fflush(stdout);
      }
      table.row({name, std::to_string(batch), fmt::format("{:.4g}", speed->direct_ms),
                 fmt::format("{:.4g}", speed->best_ms), fmt::format("{:.4g}", speed->int8_ms),
                 text_of(speed->over_direct), text_of(speed->over_best), std::to_string(speed->rounds)});
    }
  }
  if (!options.json) fmt::print("{}", table.str());
  return 0;
}

}  // namespace kasimir
