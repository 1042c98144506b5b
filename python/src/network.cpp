// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/error.h"
#include "kasimir/network/coverage.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/zoo.h"
#include "kasimir/onnx/import.h"

namespace nb = nanobind;

namespace kasimir::python {
namespace {

std::vector<std::tuple<std::string, std::string, std::string>> layers(const Network& network) {
  std::vector<std::tuple<std::string, std::string, std::string>> all;
  for (const Layer& layer : network.layers()) all.emplace_back(layer.name, op_text(layer.op), layer.out.str());
  return all;
}

std::vector<std::tuple<std::string, SiteNumbers, std::int64_t, std::int64_t>> sites(const Network& network,
                                                                                    std::vector<std::string> replace,
                                                                                    std::vector<std::string> keep) {
  std::vector<std::tuple<std::string, SiteNumbers, std::int64_t, std::int64_t>> all;
  for (const SiteRef& ref : find_sites(network, {std::move(replace), std::move(keep)})) {
    const Site& site = ref.site;
    all.emplace_back(ref.name, SiteNumbers{site.ci, site.co, site.h, site.w, site.s}, ref.cost.macs, ref.cost.params);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> problems(const Network& network, std::int64_t batch, int bits) {
  const auto lowered = lower_network({&network, {}}, batch);
  if (!lowered.ok()) throw input_error("{} has no loop nests: {}", network.name(), lowered.rejection().str());
  return nest_problems(lowered->graph, bits, network.name());
}

}  // namespace

void add_network(nb::module_& module) {
  nb::class_<Network>(module, "Network")
      .def_static("onnx", [](const std::string& file) { return import_onnx(file).network; })
      .def_static("zoo", [](const std::string& name) { return zoo_network(name); })
      .def_prop_ro("name", &Network::name)
      .def_prop_ro("classes", &Network::classes)
      .def_prop_ro("input", [](const Network& n) { return std::tuple(n.input().c, n.input().h, n.input().w); })
      .def("layers", &layers)
      .def("sites", &sites)
      .def("macs", [](const Network& network) { return network.cost().macs; })
      .def("params", [](const Network& network) { return network.cost().params; })
      .def("problems", &problems)
      .def("coverage", [](const Network& network) { return coverage(network).str(); })
      .def("text", &Network::str);
  module.def("zoo", [] {
    std::vector<std::string> names;
    for (const ZooRecord& record : zoo()) names.emplace_back(record.name);
    return names;
  });
}

}  // namespace kasimir::python
