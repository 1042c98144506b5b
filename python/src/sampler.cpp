// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/rng.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/moves.h"

namespace nb = nanobind;

namespace kasimir::python {
namespace {

/// A drawn kernel with its MACs and parameters over all sites, or the rule that ended the attempt.
struct Drawn {
  std::optional<Kernel> kernel;
  double macs = 0;
  double params = 0;
  std::string rule;    ///< of a kernel: how it came about
  std::string reason;  ///< the rule with its values
};

/// A sampler with its memory: for one thread at a time, which the interpreter's lock sees to.
class KernelSource {
 public:
  KernelSource(const std::vector<LoadNumbers>& loads, const std::string& budget, std::pair<int, int> primitives,
               std::uint64_t seed, const std::vector<std::string>& allow, const std::vector<std::string>& forbid,
               const std::vector<std::string>& require, bool allow_global)
      : sampler_(catalog(), loads_of_numbers(loads), options(budget, primitives, allow, forbid, require, allow_global),
                 seed),
        memory_(sampler_) {}

  Drawn attempt(std::uint64_t number) { return drawn(sampler_.attempt(number, memory_), "drawn"); }

  Drawn mutate(const Kernel& parent, std::uint64_t number) {
    const auto made = kasimir::mutate(sampler_, parent, number, memory_);
    if (!made.ok()) return refused(made.rejection());
    return drawn(sampler_.describe(number, memory_), std::string(mutation_name(*made)));
  }

  Drawn cross(const Kernel& first, const Kernel& second, std::uint64_t number) {
    if (const auto failed = kasimir::cross(sampler_, first, second, number, memory_)) return refused(*failed);
    return drawn(sampler_.describe(number, memory_), "crossing");
  }

 private:
  static SampleOptions options(const std::string& budget, std::pair<int, int> primitives,
                               const std::vector<std::string>& allow, const std::vector<std::string>& forbid,
                               const std::vector<std::string>& require, bool allow_global) {
    SampleOptions options;
    options.budget = budget_of_text(budget);
    options.limits.min_primitives = primitives.first;
    options.limits.max_primitives = primitives.second;
    options.limits.allow = allow;
    options.limits.forbid = forbid;
    options.limits.require = require;
    options.wanted.allow_global = allow_global;
    return options;
  }

  static Drawn refused(const Rejection& reason) { return {std::nullopt, 0, 0, reason.rule, reason.str()}; }

  static Drawn drawn(Outcome<Sampled> sampled, std::string how) {
    if (!sampled.ok()) return refused(sampled.rejection());
    return {std::move(sampled->kernel), sampled->cost.total_macs, sampled->cost.total_params, std::move(how), ""};
  }

  Sampler sampler_;
  SampleMemory memory_;
};

}  // namespace

void add_sampler(nb::module_& module) {
  module.def("uniform", [](std::uint64_t seed, std::uint64_t number, int count) {
    Rng rng(mix_bits(seed), number);  // the sampler's own stream is another one
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(rng.unit());
    return values;
  });
  nb::class_<Drawn>(module, "Drawn")
      .def_ro("kernel", &Drawn::kernel)
      .def_ro("macs", &Drawn::macs)
      .def_ro("params", &Drawn::params)
      .def_ro("rule", &Drawn::rule)
      .def_ro("reason", &Drawn::reason);
  nb::class_<KernelSource>(module, "Sampler")
      .def(nb::init<const std::vector<LoadNumbers>&, const std::string&, std::pair<int, int>, std::uint64_t,
                    const std::vector<std::string>&, const std::vector<std::string>&, const std::vector<std::string>&,
                    bool>())
      .def("attempt", &KernelSource::attempt)
      .def("mutate", &KernelSource::mutate)
      .def("cross", &KernelSource::cross);
}

}  // namespace kasimir::python
