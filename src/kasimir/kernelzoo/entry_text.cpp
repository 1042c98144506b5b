// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/hardware/parse_toml.h"
#include "kasimir/kernelzoo/fields.h"

namespace kasimir::kernelzoo {
namespace {

std::string value_text(const std::string& value) { return value.empty() ? "" : toml_string(value); }
std::string value_text(const std::optional<std::string>& value) { return value ? toml_string(*value) : ""; }
std::string value_text(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; }
std::string value_text(const std::optional<double>& value) {
  if (!value) return "";
  return fmt::format("{:.6g}", *value);
}
std::string value_text(const std::vector<std::string>& value) {
  std::vector<std::string> parts;
  for (const std::string& part : value) parts.push_back(toml_string(part));
  return parts.empty() ? "" : "[" + join(parts, ", ") + "]";
}

}  // namespace

std::string str(const Entry& entry) {
  std::string all = entry.brief.empty() ? "" : fmt::format("# {}\n", entry.brief);
  all += str(entry.kernel);
  if (entry.fingerprint) all += fmt::format("#: fingerprint = {}\n", toml_string(*entry.fingerprint));
  for (const Result& result : entry.results) {
    all += "#: [[result]]\n";
    for (const Field& field : fields) {
      const std::string value = std::visit([&](auto member) { return value_text(result.*member); }, field.member);
      if (!value.empty()) all += fmt::format("#: {} = {}\n", field.key, value);
    }
  }
  return all;
}

}  // namespace kasimir::kernelzoo
