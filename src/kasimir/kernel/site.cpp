// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/site.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <map>
#include <optional>
#include <vector>

namespace kasimir {

namespace {

constexpr std::string_view forms = "write a site as `Ci=64 Co=128 H=16 W=16 s=2` or `64->128x16x16/2`";

template <typename... Args>
Error site_error(std::string_view text, fmt::format_string<Args...> reason, Args&&... args) {
  Error error = input_error("site `{}`: {}", text, fmt::format(reason, std::forward<Args>(args)...));
  return error.note(std::string(forms));
}

std::int64_t count(std::string_view text, std::string_view name, std::string_view number) {
  const std::optional<std::int64_t> value = parse_integer(number);
  if (!value || *value < 1) throw site_error(text, "{} is `{}`, needed a whole number of at least 1", name, number);
  return *value;
}

Site parse_short(std::string_view text) {
  const std::size_t arrow = text.find("->");
  const std::string_view in = trim(text.substr(0, arrow));
  std::string_view out = trim(text.substr(arrow + 2));
  Site site;
  if (const std::size_t slash = out.find('/'); slash != std::string_view::npos) {
    site.s = count(text, "s", trim(out.substr(slash + 1)));
    out = trim(out.substr(0, slash));
  }
  const std::vector<std::string> parts = split(out, 'x');
  if (parts.size() != 3) throw site_error(text, "found {} numbers after `->`, needed 3", parts.size());
  site.ci = count(text, "Ci", in);
  site.co = count(text, "Co", trim(parts[0]));
  site.h = count(text, "H", trim(parts[1]));
  site.w = count(text, "W", trim(parts[2]));
  return site;
}

Site parse_named(std::string_view text) {
  Site site;
  const std::map<std::string_view, std::int64_t*> fields = {
      {"Ci", &site.ci}, {"Co", &site.co}, {"H", &site.h}, {"W", &site.w}, {"s", &site.s}};
  std::map<std::string_view, bool> seen;
  for (const std::string& part : split(text, ' ')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw site_error(text, "`{}` has no `=`", part);
    const auto field = fields.find(std::string_view(part).substr(0, equals));
    if (field == fields.end()) throw site_error(text, "unknown name `{}`", part.substr(0, equals));
    if (seen[field->first]) throw site_error(text, "{} is given twice", field->first);
    seen[field->first] = true;
    *field->second = count(text, field->first, std::string_view(part).substr(equals + 1));
  }
  for (const std::string_view needed : {"Ci", "Co", "H", "W"})
    if (!seen[needed]) throw site_error(text, "{} is missing", needed);
  return site;
}

}  // namespace

std::string Site::str() const { return fmt::format("Ci={} Co={} H={} W={} s={}", ci, co, h, w, s); }

Site Site::parse(std::string_view text) {
  return text.find("->") != std::string_view::npos ? parse_short(text) : parse_named(text);
}

Binding Site::binding() const {
  Binding binding;
  binding.set(Symbol::Ci, ci).set(Symbol::Co, co).set(Symbol::H, h).set(Symbol::W, w).set(Symbol::s, s);
  return binding;
}

}  // namespace kasimir
