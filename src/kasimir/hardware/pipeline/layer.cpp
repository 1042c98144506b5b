// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/layer.h"

#include "kasimir/base/error.h"
#include "kasimir/hardware/pipeline/csv.h"

#include <array>
#include <set>
#include <utility>

namespace kasimir {
namespace {

struct Field {
  std::string_view name;
  int& (*at)(ConvLayer&);
  bool needed;
};

const std::array<Field, 12> fields{{
    {"cin", [](ConvLayer& l) -> int& { return l.cin; }, true},
    {"cout", [](ConvLayer& l) -> int& { return l.cout; }, true},
    {"height", [](ConvLayer& l) -> int& { return l.height; }, true},
    {"width", [](ConvLayer& l) -> int& { return l.width; }, true},
    {"kernel_h", [](ConvLayer& l) -> int& { return l.kernel_h; }, true},
    {"kernel_w", [](ConvLayer& l) -> int& { return l.kernel_w; }, false},
    {"stride", [](ConvLayer& l) -> int& { return l.stride; }, false},  // names a primitive: the step of a window
    {"groups", [](ConvLayer& l) -> int& { return l.groups; }, false},
    {"padding_h", [](ConvLayer& l) -> int& { return l.padding_h; }, false},
    {"padding_w", [](ConvLayer& l) -> int& { return l.padding_w; }, false},
    {"weight_bits", [](ConvLayer& l) -> int& { return l.bits.weight; }, false},
    {"activation_bits", [](ConvLayer& l) -> int& { return l.bits.activation; }, false},
}};

std::vector<std::string> known_fields() {
  std::vector<std::string> names{"name"};
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

const Field* field_named(std::string_view name) {
  for (const Field& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

void require_header(const CsvRow& header) {
  std::set<std::string> seen;
  for (const std::string& name : header.cells) {
    if (name != "name" && field_named(name) == nullptr)
      throw input_error("unknown column `{}` in a list of layers", name)
          .note(header.where())
          .note(suggestion(name, known_fields()));
    if (!seen.insert(name).second)
      throw input_error("column `{}` appears twice in a list of layers", name).note(header.where());
  }
  std::vector<std::string> missing;
  if (!seen.contains("name")) missing.emplace_back("name");
  for (const Field& field : fields)
    if (field.needed && !seen.contains(std::string(field.name))) missing.emplace_back(field.name);
  if (!missing.empty())
    throw input_error("a list of layers without column{} {}", missing.size() > 1 ? "s" : "", join(missing, ", "))
        .note(header.where());
}

ConvLayer layer_of(const CsvRow& header, const CsvRow& row) {
  ConvLayer layer;
  bool has_width = false;
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    if (header.cells[i] == "name") {
      layer.name = row.cells[i];
      continue;
    }
    has_width = has_width || header.cells[i] == "kernel_w";
    field_named(header.cells[i])->at(layer) = whole_cell(row, i, header.cells[i]);
  }
  if (!has_width) layer.kernel_w = layer.kernel_h;
  require_legal(layer, row.where());
  return layer;
}

}  // namespace

Problem problem_of(const ConvLayer& layer, const OperandBits& bits, std::int64_t batch) {
  return convolution({.batch = batch,
                      .out_channels = layer.cout,
                      .in_channels = layer.cin,
                      .out_height = layer.out_h(),
                      .out_width = layer.out_w(),
                      .kernel_height = layer.kernel_h,
                      .kernel_width = layer.kernel_w,
                      .stride_height = layer.stride,
                      .stride_width = layer.stride,
                      .groups = layer.groups},
                     bits);
}

Problem problem_of(const ConvLayer& layer, int partial_bits) {
  return problem_of(layer, {layer.bits.activation, layer.bits.weight, layer.bits.activation, partial_bits});
}

std::int64_t ConvLayer::macs() const { return outputs() * kernel_h * kernel_w * (cin / groups); }

std::int64_t ConvLayer::weights() const {
  return static_cast<std::int64_t>(cout) * (cin / groups) * kernel_h * kernel_w;
}

std::int64_t ConvLayer::inputs() const { return static_cast<std::int64_t>(cin) * height * width; }

std::int64_t ConvLayer::outputs() const { return static_cast<std::int64_t>(cout) * out_h() * out_w(); }

Gemm ConvLayer::gemm() const {
  return {.m = static_cast<std::int64_t>(out_h()) * out_w(),
          .n = cout / groups,
          .k = static_cast<std::int64_t>(kernel_h) * kernel_w * (cin / groups)};
}

ConvLayer same_convolution(std::string name, int cin, int cout, int size, int kernel, int stride, int groups) {
  return {.name = std::move(name),
          .cin = cin,
          .cout = cout,
          .height = size,
          .width = size,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride = stride,
          .groups = groups,
          .padding_h = kernel - 1,
          .padding_w = kernel - 1,
          .bits = {}};
}

ConvLayer fully_connected(std::string name, int cin, int cout) {
  ConvLayer layer;
  layer.name = std::move(name);
  layer.cin = cin;
  layer.cout = cout;
  return layer;
}

void require_legal(const ConvLayer& layer, std::string_view where) {
  const auto fail = [&](std::string_view what, std::string_view needed) {
    throw input_error("layer `{}`: {}, needed: {}", layer.name, what, needed).note(std::string(where));
  };
  for (const Field& field : fields) {
    ConvLayer copy = layer;
    const int value = field.at(copy);
    const int least = field.name.starts_with("padding") ? 0 : 1;
    if (value < least) fail(fmt::format("{} = {}", field.name, value), fmt::format("at least {}", least));
    if (field.name.ends_with("bits") && value > 64) fail(fmt::format("{} = {}", field.name, value), "at most 64");
  }
  if (layer.cin % layer.groups != 0 || layer.cout % layer.groups != 0)
    fail(fmt::format("{} groups of {} input and {} output channels", layer.groups, layer.cin, layer.cout),
         "a divisor of both");
  if (layer.kernel_h > layer.height + layer.padding_h || layer.kernel_w > layer.width + layer.padding_w)
    fail(fmt::format("a {} x {} window on a {} x {} input with padding {} and {}", layer.kernel_h, layer.kernel_w,
                     layer.height, layer.width, layer.padding_h, layer.padding_w),
         "a window within the padded input");
}

std::vector<ConvLayer> parse_layers(std::string_view text, const std::string& file) {
  const std::vector<CsvRow> rows = csv_rows(text, file);
  if (rows.empty()) throw input_error("no header in a list of layers").note(file);
  require_header(rows[0]);
  std::vector<ConvLayer> layers;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].cells.size() != rows[0].cells.size())
      throw input_error("{} cells under {} columns", rows[i].cells.size(), rows[0].cells.size()).note(rows[i].where());
    layers.push_back(layer_of(rows[0], rows[i]));
  }
  return layers;
}

std::string layers_text(const std::vector<ConvLayer>& layers) {
  std::string text = "name";
  for (const Field& field : fields) text += fmt::format(",{}", field.name);
  text += '\n';
  for (ConvLayer layer : layers) {
    text += layer.name;
    for (const Field& field : fields) text += fmt::format(",{}", field.at(layer));
    text += '\n';
  }
  return text;
}

}  // namespace kasimir
