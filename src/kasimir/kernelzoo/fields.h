// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernelzoo/entry.h"

#include <array>
#include <string_view>
#include <variant>

namespace kasimir::kernelzoo {

/// A key of a result: how it is read, held to its range, written and listed.
struct Field {
  using Member =
      std::variant<std::string Result::*, std::optional<std::string> Result::*, std::vector<std::string> Result::*,
                   std::optional<std::int64_t> Result::*, std::optional<double> Result::*>;
  std::string_view key;
  Member member;
  double high;  ///< numbers are above 0 and up to this, shares from 0
};

inline constexpr double any = 1e18;
inline constexpr double share = 1;

/// In the order in which they are written.
inline constexpr auto fields = std::to_array<Field>({
    {"network", &Result::network, any},
    {"width", &Result::width, any},
    {"input", &Result::input, any},
    {"classes", &Result::classes, any},
    {"replace", &Result::replace, any},
    {"keep", &Result::keep, any},
    {"macs", &Result::macs, any},
    {"params", &Result::params, any},
    {"data", &Result::data, any},
    {"recipe", &Result::recipe, any},
    {"seeds", &Result::seeds, any},
    {"validation", &Result::validation, share},
    {"validation_spread", &Result::validation_spread, share},
    {"test", &Result::test, share},
    {"test_spread", &Result::test_spread, share},
    {"original_validation", &Result::original_validation, share},
    {"original_validation_spread", &Result::original_validation_spread, share},
    {"original_test", &Result::original_test, share},
    {"original_test_spread", &Result::original_test_spread, share},
    {"latency_ratio", &Result::latency_ratio, any},
    {"latency_ms", &Result::latency_ms, any},
    {"original_ms", &Result::original_ms, any},
    {"engine", &Result::engine, any},
    {"machine", &Result::machine, any},
    {"batch", &Result::batch, any},
    {"threads", &Result::threads, any},
    {"architecture", &Result::architecture, any},
    {"cycles", &Result::cycles, any},
    {"original_cycles", &Result::original_cycles, any},
    {"energy_uj", &Result::energy_uj, any},
    {"original_energy_uj", &Result::original_energy_uj, any},
    {"program", &Result::program, any},
    {"command", &Result::command, any},
});

}  // namespace kasimir::kernelzoo
