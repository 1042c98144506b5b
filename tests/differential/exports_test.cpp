// SPDX-License-Identifier: Apache-2.0
// Exports of small networks with random weights, run by PyTorch and ONNX Runtime and compared with the interpreter.
#include "kernel_texts.h"
#include "random_kernels.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"
#include "kasimir/codegen/onnx.h"
#include "kasimir/codegen/pytorch.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "support/every_layer.h"
#include "support/quantization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kasimir {
namespace {

constexpr std::int64_t images = 4;

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

NamedTensor tensor_of(const std::string& name, const BoundTensor& tensor, const std::vector<double>& values) {
  NamedTensor made{name, {}, false, {values.begin(), values.end()}};
  for (const auto& axis : tensor.axes) made.shape.push_back(axis.extent);
  return made;
}

std::vector<double> random_input(const BoundTensor& tensor) {
  Rng rng(3);
  std::vector<double> values(static_cast<std::size_t>(elements(tensor)));
  for (double& v : values) v = static_cast<float>(rng.normal());
  return values;
}

/// How far single precision may be from the interpreter: of the result, and of the largest number on the way to it.
double limit(const TensorValues<double>& values, const std::vector<double>& result) {
  double everywhere = 0.0;
  for (const auto& tensor : values) everywhere = std::max(everywhere, largest(tensor));
  return 1e-4 * largest(result) + 3e-6 * everywhere;
}

/// The scores of random images by the stages of the whole network.
void interpret(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, std::vector<NamedTensor>& expected,
               ExportCheck& check) {
  const auto lowered = lower_network(plan, images);
  if (!lowered.ok()) throw input_error("{}", lowered.rejection().str());
  const BoundGraph& graph = lowered->graph;
  TensorValues<double> values(graph.tensors.size());
  const auto given = values_of(*lowered, weights);
  for (std::size_t t = 0; t < values.size(); ++t) values[t].assign(given[t].begin(), given[t].end());
  const auto input = static_cast<std::size_t>(graph.input);
  values[input] = random_input(graph.tensors[input]);
  RealDomain numbers;
  evaluate(graph, numbers, values);
  const auto& scores = values[static_cast<std::size_t>(graph.output)];
  check.images = images;
  check.input.assign(values[input].begin(), values[input].end());
  check.output.assign(scores.begin(), scores.end());
  expected.push_back({"limit", {1}, false, {static_cast<float>(limit(values, scores))}});
}

/// The scores of random images by the stages of the whole network, with the operands of quantised places rounded.
void interpret_quantized(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                         const Quantization& quantization, std::vector<NamedTensor>& expected, ExportCheck& check) {
  const auto lowered = lower_network(plan, images).value();
  const BoundGraph& graph = lowered.graph;
  TensorValues<double> values(graph.tensors.size());
  const auto given = values_of(lowered, weights);
  for (std::size_t t = 0; t < values.size(); ++t) values[t].assign(given[t].begin(), given[t].end());
  const auto input = static_cast<std::size_t>(graph.input);
  values[input] = random_input(graph.tensors[input]);
  const auto round = [](std::vector<double>& of, const std::vector<float>& steps, const IntegerFormat& format) {
    const std::size_t share = of.size() / steps.size();
    for (std::size_t i = 0; i < of.size(); ++i)
      of[i] = quantize_by_codes(static_cast<float>(of[i]), {steps[i / share], 0, 0}, format);
  };
  for (const BoundStage& stage : graph.stages) {
    TensorValues<double> operands = values;
    const auto product = weighted_product(graph, stage);
    const std::string name = product ? lowered.names[static_cast<std::size_t>(product->weight->tensor)] : "";
    if (quantization.contains(name)) {
      const QuantizedPlace& place = quantization.at(name);
      round(operands[static_cast<std::size_t>(product->weight->tensor)], place.weight_steps, place.weight);
      round(operands[static_cast<std::size_t>(product->activation->tensor)], {place.activation_step}, place.activation);
    }
    RealDomain numbers;
    evaluate({graph.tensors, {stage}, graph.input, graph.output}, numbers, operands);
    values[static_cast<std::size_t>(stage.out)] = operands[static_cast<std::size_t>(stage.out)];
  }
  const auto& scores = values[static_cast<std::size_t>(graph.output)];
  check.images = images;
  check.input.assign(values[input].begin(), values[input].end());
  check.output.assign(scores.begin(), scores.end());
  expected.push_back({"limit", {1}, false, {static_cast<float>(limit(values, scores))}});
}

/// The first replaced layer in training: what it gives, and where its statistics then are.
void interpret_training(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                        std::vector<NamedTensor>& expected) {
  const auto& [layer, placed] = *plan.replaced.begin();
  const BoundGraph graph = lower_at(placed.first, placed.second, images).value();
  TensorValues<double> values(graph.tensors.size());
  const auto input = static_cast<std::size_t>(graph.input);
  values[input] = random_input(graph.tensors[input]);
  std::vector<std::pair<LayerPart, std::vector<double>>> stored;
  for (const LayerPart& part : layer_parts(plan, layer)) {
    const auto found = std::ranges::find(weights, part.name, &NamedTensor::name);
    const std::vector<double> numbers(found->values.begin(), found->values.end());
    if (part.kind == PartKind::kernel_stat) {
      stored.emplace_back(part, numbers);
    } else {
      values[static_cast<std::size_t>(part.tensor)] = numbers;
    }
  }
  RealDomain numbers;
  evaluate(graph, numbers, values);
  const auto output = static_cast<std::size_t>(graph.output);
  expected.push_back(tensor_of("train.input", graph.tensors[input], values[input]));
  expected.push_back(tensor_of("train.output", graph.tensors[output], values[output]));
  expected.push_back({"train.limit", {1}, false, {static_cast<float>(limit(values, values[output]))}});
  for (auto& [part, after] : stored) {
    const auto tensor = static_cast<std::size_t>(part.tensor);
    const auto stage = std::ranges::find(graph.stages, part.tensor, &BoundStage::out);
    for (std::size_t i = 0; i < after.size(); ++i) after[i] += stage->stat->momentum * (values[tensor][i] - after[i]);
    const std::string name = part.name.substr(part.name.rfind('.') + 1);
    expected.push_back(tensor_of("after." + name, graph.tensors[tensor], after));
  }
}

void write_case(const std::filesystem::path& folder, const NetworkPlan& plan) {
  const auto weights = random_weights(plan, 7);
  std::vector<NamedTensor> expected;
  ExportCheck check;
  interpret(plan, weights, expected, check);
  ExportNotes notes{{"weights", "random, seed 7"}};
  if (!plan.replaced.empty()) {
    interpret_training(plan, weights, expected);
    notes.emplace_back("replaced", plan.network->layer(plan.replaced.begin()->first).name);
  }
  std::vector<ExportedFile> files = export_pytorch(plan, weights, notes);
  for (ExportedFile& file : export_onnx(plan, weights, notes)) files.push_back(std::move(file));
  files.push_back(check_file(*plan.network, check));
  files.push_back({"expected.safetensors", to_safetensors(expected, notes)});
  std::filesystem::create_directories(folder);
  for (const ExportedFile& file : files) write_file(folder / file.name, file.content);
}

/// As ONNX only. `limit` and `loose`: how far scores may be off, of the largest score; 0 for the limit of single
/// precision.
void write_quantized_case(const std::filesystem::path& folder, const NetworkPlan& plan,
                          const std::vector<NamedTensor>& weights, const Quantization& quantization, float limit,
                          float loose) {
  std::vector<NamedTensor> expected;
  ExportCheck check;
  interpret_quantized(plan, weights, quantization, expected, check);
  const auto most = static_cast<float>(largest({check.output.begin(), check.output.end()}));
  if (limit > 0) expected[0].values[0] = limit * most;
  expected.push_back({"loose", {1}, false, {loose * most}});
  std::vector<ExportedFile> files = export_onnx(plan, weights, {}, quantization);
  files.push_back(check_file(*plan.network, check));
  files.push_back({"expected.safetensors", to_safetensors(expected)});
  std::filesystem::create_directories(folder);
  for (const ExportedFile& file : files) write_file(folder / file.name, file.content);
}

void write_examples(const std::filesystem::path& folder) {
  const Network network = zoo_network("resnet8", {.classes = 5, .input = {3, 11, 12}, .width = 0.5});
  const auto examples = std::filesystem::path(KASIMIR_SOURCE_DIR) / "examples" / "kernels";
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    const std::string name = entry.path().stem().string();
    Kernel kernel = parse_kernel(read_file(entry.path()), catalog(), name);
    // A depthwise convolution has as many channels out as in, which the first of the block has not.
    const SiteFilter filter = name == "depthwise" ? SiteFilter{.replace = {"*.conv2"}} : SiteFilter{};
    const auto sites = find_sites(network, filter);
    Binding widths;
    for (Symbol symbol : kernel.free_symbols()) widths.set(symbol, 6);
    for (const SiteRef& site : sites) kernel.fits.emplace_back(site.site, widths);
    write_case(folder / name, replace_with(network, sites, kernel));
  }
}

void write_zoo(const std::filesystem::path& folder) {
  for (const ZooRecord& record : zoo()) {
    const Network network = zoo_network(record.name, {.classes = 4, .input = {3, 33, 32}, .width = 0.125});
    write_case(folder / std::string(record.name), {&network, {}});
  }
  const Network every = testing::every_layer();
  write_case(folder / "every_layer", {&every, {}});
}

/// A convolution at the site, then a map of every element to scores, so that no element can hide.
Network one_layer(const Site& site) {
  NetworkBuilder net("one_layer", {site.ci, site.s * site.h, site.s * site.w});
  layer::Conv conv;
  conv.out = site.co;
  conv.kernel_h = conv.kernel_w = 3;
  conv.pad_h = conv.pad_w = 1;
  conv.stride = site.s;
  const int x = net.add("conv", conv, {0});
  net.add("linear", layer::Linear{.out = 8}, {x});
  return std::move(net).finish();
}

void write_random(const std::filesystem::path& folder) {
  for_random_kernels(20261, wanted_kernels(60), [&](const RandomKernel& drawn) {
    const Network network = one_layer(drawn.site);
    write_case(folder / fmt::format("random{:04}", drawn.number), {&network, {{1, {drawn.kernel, drawn.site}}}});
  });
}

void write_quantized_kernel(const std::filesystem::path& folder, const Kernel& kernel, const Site& site, Rng& rng) {
  const Network network = one_layer(site);
  const NetworkPlan plan{&network, {{1, {kernel, site}}}};
  const auto weights = random_weights(plan, 7);
  Quantization some = testing::random_quantization(plan, weights, rng, {16, 7, 6, 5, 4, 3, 2});
  if (some.size() > 1 && rng.chance(0.2)) some.erase(some.begin());
  write_quantized_case(folder, plan, weights, some, 0, 0.5F);
}

/// Deep networks with weights of few bits and activations of 16, in which a value between two codes matters little; and
/// at 8 bits, where it and biases in whole steps show. Random kernels at all bits.
void write_quantized(const std::filesystem::path& folder) {
  Rng rng(31);
  for (const ZooRecord& record : zoo()) {
    const Network network = zoo_network(record.name, {.classes = 4, .input = {3, 33, 32}, .width = 0.125});
    const NetworkPlan plan{&network, {}};
    const auto weights = random_weights(plan, 7);
    Quantization fine = testing::random_quantization(plan, weights, rng);
    Quantization bytes = testing::random_quantization(plan, weights, rng, {8});
    for (auto& [name, place] : fine) {
      place.activation.bits = 16;
      place.activation_step = 4.0F / static_cast<float>(place.activation.highest());
    }
    write_quantized_case(folder / fmt::format("{}_fine", record.name), plan, weights, fine, 2e-3F, 2e-3F);
    write_quantized_case(folder / fmt::format("{}_bytes", record.name), plan, weights, bytes, 0.1F, 0.1F);
  }
  for_random_kernels(20262, wanted_kernels(60), [&](const RandomKernel& drawn) {
    write_quantized_kernel(folder / fmt::format("random{:04}", drawn.number), drawn.kernel, drawn.site, rng);
  });
  for (std::string_view text : kernel_texts) {
    const Kernel kernel = parse_kernel(text, catalog());
    for (const Site& site : {Site{4, 8, 3, 4, 2}, Site{8, 8, 4, 4, 1}})
      if (lower_at(kernel, site, 1).ok())
        write_quantized_kernel(folder / fmt::format("{}_{}", kernel.name, site.s), kernel, site, rng);
  }
}

/// The exports are written once; each test runs all of them in one process of Python.
class Exports : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_examples(folder_->path());
    write_zoo(folder_->path());
    write_random(folder_->path());
    write_quantized(folder_->path() / "quantized");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  /// @param environment the folder of a virtual environment below build/
  static void run(const std::string& environment, const std::string& kind, const std::string& below = "") {
    const auto source = std::filesystem::path(KASIMIR_SOURCE_DIR);
    const auto python = source / "build" / environment / "bin" / "python3";
    if (!std::filesystem::exists(python)) GTEST_SKIP() << "there is no " << python;
    const std::string script = source / "tests" / "differential" / "run_exports.py";
    const auto done = run_command({python, "-B", script, kind, folder_->path() / below}, {.seconds = 1500});
    const std::string said = done.ok() ? *done : done.rejection().str();
    if (said.find("skipped: ") != std::string::npos) GTEST_SKIP() << said;
    EXPECT_TRUE(done.ok()) << said;
    EXPECT_NE(said.find(" exports, 0 failures"), std::string::npos) << said;
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Exports, AsPytorchComputeWhatTheInterpreterComputesAlsoInTraining) { run("venv", "pytorch"); }
TEST_F(Exports, AsOnnxComputeInOnnxRuntimeWhatTheInterpreterComputes) { run("peers", "onnx"); }
TEST_F(Exports, AsQuantizedOnnxComputeInOnnxRuntimeWhatTheInterpreterComputes) { run("peers", "onnx", "quantized"); }

}  // namespace
}  // namespace kasimir
