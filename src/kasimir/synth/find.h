// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

/// Whether a sampler comes upon a function that is known already, and after how many attempts.
namespace kasimir {

/// A small site with values for everything, other than those of Semantics, at which equal functions are compared again.
struct SecondSite {
  Site site;
  Binding free;  ///< x0, x1, ..
};

/// A function to look for, as a kernel that is legal at a sampler's sites and within its budget.
struct Target {
  Kernel kernel;                     ///< free symbols numbered as growth numbers them
  Fingerprint fingerprint;           ///< Semantics::fingerprint()
  std::uint64_t weight_sizes = 0;    ///< Semantics::weight_sizes()
  std::optional<SecondSite> second;  ///< none: the kernel is too large to be evaluated there
  std::optional<Fingerprint> second_fingerprint;
};

/// Rejected by the rule that the kernel breaks at the sampler's sites, or by the limit of the budget that it exceeds.
Outcome<Target> target_for(const Sampler& sampler, const Kernel& kernel);

/// The target's steps that growth cannot draw (offered() in replay.h), as texts.
std::vector<std::string> steps_not_offered(const Sampler& sampler, const Target& target);

/// How surely a kernel computes what another does. Both were evaluated over the finite field at a tiny site already.
enum class Agreement : std::uint8_t {
  refuted,     ///< they differ at the second site, over the finite field and in real numbers
  field_once,  ///< they could not be evaluated at the second site
  field,       ///< they agree there over the finite field, with other values
  reals        ///< they agree there in double precision, with the same weights
};
std::string_view words(Agreement agreement);

/// Compares at the second site. Real numbers are compared where the kernels have weights of the same roles and axes
/// (axes of one element aside), with up to 24 ways to tell which is which.
Agreement compare(const Target& target, const Kernel& kernel);

/// The same of two kernels that met over the finite field, at a site where the first is whole.
Agreement compare(const Kernel& one, const Kernel& other, const std::vector<SiteLoad>& sites);

struct FindLimits {
  std::uint64_t most_attempts = 1'000'000;
  std::uint64_t most_hits = 1;  ///< the search ends with this one
  int threads = 1;              ///< changes the speed only
};

struct Hit {
  std::uint64_t attempt = 0;
  Kernel kernel;
  Agreement agreement = Agreement::field;
};

struct FindResult {
  std::uint64_t attempts = 0;
  std::uint64_t legal = 0;
  std::uint64_t refuted = 0;  ///< kernels that only seemed to be the target
  std::vector<Hit> hits;      ///< by attempt
};

/// Draws attempt after attempt, without the screens of SampleOptions::wanted, and compares what each kernel computes.
FindResult find(const Sampler& sampler, const Target& target, const FindLimits& limits);

}  // namespace kasimir
