// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_functions.h"

namespace kasimir {

PlaceOf CArguments::places() {
  return [this](int tensor) {
    const auto [at, added] = names_.emplace(tensor, fmt::format("T{}", names_.size()));
    // Not `restrict`, though no two tensors of a nest share memory: GCC 12 at -O2 then keeps results in registers over
    // several steps (predictive commoning) and, where a thread's share is shorter than that, writes old values back
    // over what another thread has written.
    if (added)
      add({fmt::format("{}{}", written_.contains(tensor) ? "" : "const ",
                       bytes_(tensor) ? "unsigned char *" : "float *"),
           at->second, outside_(tensor)});
    return at->second;
  };
}

std::string CFunctions::call(CText& text, char letter, const std::vector<CArgument>& arguments,
                             const std::string& body) {
  std::vector<std::string> parameters;
  std::vector<std::string> values;
  for (const CArgument& argument : arguments) {
    parameters.push_back(argument.type + argument.name);
    values.push_back(argument.value);
  }
  const std::string head = fmt::format("({})", fmt::join(parameters, ", "));
  const auto [at, added] = known_.emplace(letter + head + body, fmt::format("{}{}", letter, names_.size()));
  if (added) {
    names_.push_back(at->second);
    text.line("static KSM_APART void {}{} {{\n{}}}", at->second, head, body);
  }
  return fmt::format("{}({});", at->second, fmt::join(values, ", "));
}

}  // namespace kasimir
