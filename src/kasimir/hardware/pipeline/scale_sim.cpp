// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/scale_sim.h"

#include "kasimir/base/error.h"
#include "kasimir/hardware/pipeline/csv.h"

#include <algorithm>
#include <functional>
#include <map>

namespace kasimir {
namespace {

// Rows after the header, which SCALE-Sim skips whatever it says.
std::vector<CsvRow> body(std::string_view text, const std::string& file, std::string_view what) {
  std::vector<CsvRow> rows = csv_rows(text, file);
  if (rows.empty()) throw input_error("an empty {}, needed: a header and one layer a line", what).note(file);
  if (rows[0].cells.size() > 1 && parse_integer(rows[0].cells[1]))
    throw input_error("the first line of a {} holds numbers, needed: a header", what).note(rows[0].where());
  rows.erase(rows.begin());
  return rows;
}

// Zeros behind the input so that rounding down gives the outputs that SCALE-Sim counts by rounding up.
int rounding_padding(int size, int kernel, int stride) {
  const int rest = (size - kernel) % stride;
  return rest == 0 ? 0 : stride - rest;
}

std::string lower_text(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lowered;
}

struct Entry {
  std::string section, key, value, where;
};

std::vector<Entry> ini_entries(std::string_view text, const std::string& file) {
  std::vector<Entry> entries;
  std::string section;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view content = trim(line);
    const std::string where = fmt::format("{}:{}", file, number);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      if (content.back() != ']') throw input_error("a section without its closing bracket: `{}`", content).note(where);
      section = std::string(trim(content.substr(1, content.size() - 2)));
      continue;
    }
    const auto at = content.find_first_of(":=");
    if (at == std::string_view::npos) throw input_error("a line without `:` or `=`: `{}`", content).note(where);
    entries.push_back(
        {section, std::string(trim(content.substr(0, at))), std::string(trim(content.substr(at + 1))), where});
  }
  return entries;
}

int whole(const Entry& entry, std::int64_t least) {
  const auto value = parse_integer(entry.value);
  if (!value || *value < least || *value > 1 << 30)
    throw input_error("`{}` is `{}`, needed: a whole number of at least {}", entry.key, entry.value, least)
        .note(entry.where);
  return static_cast<int>(*value);
}

SystolicDataflow dataflow_of(const Entry& entry) {
  const std::string word = lower_text(entry.value);
  if (word == "os") return SystolicDataflow::output_stationary;
  if (word == "ws") return SystolicDataflow::weight_stationary;
  if (word == "is") return SystolicDataflow::input_stationary;
  throw input_error("`Dataflow` is `{}`, needed: os, ws or is", entry.value).note(entry.where);
}

std::vector<double> numbers(const Entry& entry) {
  std::vector<double> values;
  for (const std::string& part : split(entry.value, ',')) {
    const auto value = parse_number(trim(part));
    if (!value || *value <= 0)
      throw input_error("`{}` is `{}`, needed: positive words per cycle", entry.key, entry.value).note(entry.where);
    values.push_back(*value);
  }
  return values;
}

using Setter = std::function<void(ScaleSimConfig&, const Entry&)>;

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table{
      {"run_name", [](auto& c, auto& e) { c.run_name = trim(e.value); }},
      {"arrayheight", [](auto& c, auto& e) { c.array.rows = whole(e, 1); }},
      {"arraywidth", [](auto& c, auto& e) { c.array.cols = whole(e, 1); }},
      {"ifmapsramszkb", [](auto& c, auto& e) { c.ifmap_kb = whole(e, 1); }},
      {"filtersramszkb", [](auto& c, auto& e) { c.filter_kb = whole(e, 1); }},
      {"ofmapsramszkb", [](auto& c, auto& e) { c.ofmap_kb = whole(e, 1); }},
      {"ifmapoffset", [](auto& c, auto& e) { c.ifmap_offset = whole(e, 0); }},
      {"filteroffset", [](auto& c, auto& e) { c.filter_offset = whole(e, 0); }},
      {"ofmapoffset", [](auto& c, auto& e) { c.ofmap_offset = whole(e, 0); }},
      {"dataflow", [](auto& c, auto& e) { c.array.dataflow = dataflow_of(e); }},
      {"bandwidth", [](auto& c, auto& e) { c.bandwidth = numbers(e); }},
  };
  return table;
}

// Features of v3 that are not modelled, with the values that switch them off ("*": any, without effect when off).
const std::map<std::string, std::string>& switches() {
  static const std::map<std::string, std::string> table{{"sparsitysupport", "false"},
                                                        {"ifmapcustomlayout", "false"},
                                                        {"filtercustomlayout", "false"},
                                                        {"useramulatortrace", "false"},
                                                        {"optimizedmapping", "false"},
                                                        {"sparserep", "*"},
                                                        {"blocksize", "*"},
                                                        {"randomnumbergeneratorseed", "*"},
                                                        {"memorybanks", "*"},
                                                        {"onchipmemorybanks", "*"},
                                                        {"onchipmemorybankports", "*"},
                                                        {"ifmapsrambankbandwidth", "*"},
                                                        {"ifmapsrambanknum", "*"},
                                                        {"ifmapsrambankport", "*"},
                                                        {"filtersrambankbandwidth", "*"},
                                                        {"filtersrambanknum", "*"},
                                                        {"filtersrambankport", "*"},
                                                        {"readrequestbuffer", "*"},
                                                        {"writerequestbuffer", "*"}};
  return table;
}

std::vector<std::string> known_keys() {
  return {"run_name",    "ArrayHeight",  "ArrayWidth",  "IfmapSramSzkB", "FilterSramSzkB", "OfmapSramSzkB",
          "IfmapOffset", "FilterOffset", "OfmapOffset", "Dataflow",      "Bandwidth",      "InterfaceBandwidth"};
}

void require_off(const Entry& entry) {
  const auto found = switches().find(lower_text(entry.key));
  if (found == switches().end())
    throw input_error("unknown key `{}` in section `{}`", entry.key, entry.section)
        .note(entry.where)
        .note(suggestion(entry.key, known_keys()));
  if (found->second == "*" || lower_text(entry.value) == found->second) return;
  throw input_error("`{}` is `{}`, and what it switches on is not modelled, needed: {}", entry.key, entry.value,
                    found->second)
      .note(entry.where);
}

}  // namespace

std::vector<ConvLayer> parse_scale_sim_topology(std::string_view text, const std::string& file) {
  std::vector<ConvLayer> layers;
  for (const CsvRow& row : body(text, file, "topology")) {
    ConvLayer layer;
    layer.name = row.cells[0];
    layer.height = whole_cell(row, 1, "IFMAP height");
    layer.width = whole_cell(row, 2, "IFMAP width");
    layer.kernel_h = whole_cell(row, 3, "filter height");
    layer.kernel_w = whole_cell(row, 4, "filter width");
    layer.cin = whole_cell(row, 5, "channels");
    layer.cout = whole_cell(row, 6, "filters");
    layer.stride = whole_cell(row, 7, "stride");  // names a primitive: the step of a window
    if (row.cells.size() > 8 && row.cells[8] != "1:1")
      throw input_error("layer `{}` has sparsity `{}`, which is not modelled, needed: 1:1 or nothing", layer.name,
                        row.cells[8])
          .note(row.where());
    require_legal(layer, row.where());
    layer.padding_h = rounding_padding(layer.height, layer.kernel_h, layer.stride);
    layer.padding_w = rounding_padding(layer.width, layer.kernel_w, layer.stride);
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::vector<ConvLayer> parse_scale_sim_gemms(std::string_view text, const std::string& file) {
  std::vector<ConvLayer> layers;
  for (const CsvRow& row : body(text, file, "table of products")) {
    ConvLayer layer = fully_connected(row.cells[0], whole_cell(row, 3, "K"), whole_cell(row, 2, "N"));
    layer.height = whole_cell(row, 1, "M");
    require_legal(layer, row.where());
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string scale_sim_topology_text(const std::vector<ConvLayer>& layers) {
  std::string text =
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";
  for (const ConvLayer& layer : layers)
    for (int group = 0; group < layer.groups; ++group) {
      const std::string name = layer.groups == 1 ? layer.name : fmt::format("{}.{}", layer.name, group + 1);
      text +=
          fmt::format("{}, {}, {}, {}, {}, {}, {}, {},\n", name, (layer.out_h() - 1) * layer.stride + layer.kernel_h,
                      (layer.out_w() - 1) * layer.stride + layer.kernel_w, layer.kernel_h, layer.kernel_w,
                      layer.cin / layer.groups, layer.cout / layer.groups, layer.stride);
    }
  return text;
}

std::string scale_sim_gemms_text(const std::vector<ConvLayer>& layers) {
  std::string text = "Layer, M, N, K,\n";
  for (const ConvLayer& layer : layers)
    for (int group = 0; group < layer.groups; ++group) {
      const std::string name = layer.groups == 1 ? layer.name : fmt::format("{}.{}", layer.name, group + 1);
      const Gemm product = layer.gemm();
      text += fmt::format("{}, {}, {}, {},\n", name, product.m, product.n, product.k);
    }
  return text;
}

ScaleSimConfig parse_scale_sim_config(std::string_view text, const std::string& file) {
  ScaleSimConfig config;
  bool user_bandwidth = false;
  for (const Entry& entry : ini_entries(text, file)) {
    const std::string key = lower_text(entry.key);
    if (key == "interfacebandwidth") {
      const std::string value = lower_text(entry.value);
      if (value != "user" && value != "calc")
        throw input_error("`InterfaceBandwidth` is `{}`, needed: CALC or USER", entry.value).note(entry.where);
      user_bandwidth = value == "user";
      continue;
    }
    const auto found = setters().find(key);
    if (found == setters().end()) {
      require_off(entry);
      continue;
    }
    found->second(config, entry);
  }
  if (!user_bandwidth) config.bandwidth.reset();
  if (user_bandwidth && !config.bandwidth)
    throw input_error("`InterfaceBandwidth` is USER without a `Bandwidth`, needed: words per cycle").note(file);
  return config;
}

std::string scale_sim_config_text(const ScaleSimConfig& config) {
  const std::map<SystolicDataflow, std::string> words{{SystolicDataflow::output_stationary, "os"},
                                                      {SystolicDataflow::weight_stationary, "ws"},
                                                      {SystolicDataflow::input_stationary, "is"}};
  std::string text = fmt::format("[general]\nrun_name = {}\n\n[architecture_presets]\n", config.run_name);
  text += fmt::format("ArrayHeight: {}\nArrayWidth: {}\n", config.array.rows, config.array.cols);
  text += fmt::format("IfmapSramSzkB: {}\nFilterSramSzkB: {}\nOfmapSramSzkB: {}\n", config.ifmap_kb, config.filter_kb,
                      config.ofmap_kb);
  text += fmt::format("IfmapOffset: {}\nFilterOffset: {}\nOfmapOffset: {}\n", config.ifmap_offset, config.filter_offset,
                      config.ofmap_offset);
  if (config.bandwidth) text += fmt::format("Bandwidth: {}\n", fmt::join(*config.bandwidth, ", "));
  text += fmt::format("Dataflow: {}\n\n[run_presets]\nInterfaceBandwidth: {}\n", words.at(config.array.dataflow),
                      config.bandwidth ? "USER" : "CALC");
  return text;
}

}  // namespace kasimir
