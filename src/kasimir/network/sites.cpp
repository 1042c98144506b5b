// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/sites.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>

namespace kasimir {

namespace {

using Patterns = std::vector<std::string>;

std::optional<std::string> matching(const Patterns& patterns, const std::string& name) {
  const auto found = std::find_if(patterns.begin(), patterns.end(),
                                  [&](const std::string& pattern) { return glob_match(pattern, name); });
  if (found == patterns.end()) return std::nullopt;
  return *found;
}

std::vector<int> convolutions(const Network& network) {
  std::vector<int> result;
  for (int i = 0; i < static_cast<int>(network.layers().size()); ++i)
    if (std::holds_alternative<layer::Conv>(network.layer(i).op)) result.push_back(i);
  return result;
}

std::vector<std::string> names(const Network& network, const std::vector<int>& layers) {
  std::vector<std::string> result;
  for (const int index : layers) result.push_back(network.layer(index).name);
  return result;
}

/// Why the default selection leaves a convolution alone; nothing where it replaces it.
std::optional<std::string> default_reason(const layer::Conv& conv) {
  if (conv.kernel_h == 1 && conv.kernel_w == 1) return "its window is 1x1";
  if (conv.in < SiteFilter::default_channels)
    return fmt::format("it reads {} {}, fewer than {}", conv.in, conv.in == 1 ? "channel" : "channels",
                       SiteFilter::default_channels);
  return std::nullopt;
}

/// Why a convolution stays; nothing where it is replaced.
std::optional<std::string> reason_to_keep(const Network& network, int index, const SiteFilter& filter) {
  const Layer& conv = network.layer(index);
  if (const auto pattern = matching(filter.keep, conv.name)) return fmt::format("kept by `{}`", *pattern);
  if (filter.replace.empty()) {
    if (const auto reason = default_reason(std::get<layer::Conv>(conv.op))) return reason;
  } else if (!matching(filter.replace, conv.name)) {
    return "no pattern asks to replace it";
  }
  if (const auto site = site_of(network, index); !site) return "it cannot be replaced: " + site.rejection().str();
  return std::nullopt;
}

/// What to try instead of a pattern that matches no convolution. Only what was checked is proposed.
std::string advice(const std::string& pattern, const std::vector<std::string>& conv_names) {
  for (const std::string& wider : {pattern + ".*", pattern + "*", "*" + pattern, "*" + pattern + "*"}) {
    const auto count = std::count_if(conv_names.begin(), conv_names.end(),
                                     [&](const std::string& name) { return glob_match(wider, name); });
    if (count > 0) return fmt::format("`{}` matches {} of them", wider, count);
  }
  std::vector<std::string> near = nearest(pattern, conv_names);
  const std::string_view lead = near.empty() ? "for instance" : "near names are";
  if (near.empty())
    near.assign(conv_names.begin(), conv_names.begin() + std::min<std::ptrdiff_t>(3, std::ssize(conv_names)));
  for (std::string& name : near) name = fmt::format("`{}`", name);
  return fmt::format("{} {}", lead, join(near, ", "));
}

void check_pattern_matches(const Network& network, const std::string& pattern, std::string_view list) {
  const std::vector<std::string> conv_names = names(network, convolutions(network));
  if (std::any_of(conv_names.begin(), conv_names.end(),
                  [&](const std::string& name) { return glob_match(pattern, name); }))
    return;
  Error error = input_error("{} pattern `{}` matches no convolution of `{}`", list, pattern, network.name());
  const auto other = std::find_if(network.layers().begin(), network.layers().end(),
                                  [&](const Layer& layer) { return glob_match(pattern, layer.name); });
  if (other != network.layers().end()) error.note(fmt::format("`{}` is a layer `{}`", other->name, op_text(other->op)));
  if (conv_names.empty()) throw error.note("it has no convolution");
  throw error.note(fmt::format("it has {} convolutions; {}", conv_names.size(), advice(pattern, conv_names)));
}

/// A pattern that only names what cannot be replaced was a misunderstanding; one of many is listed as kept instead.
void check_pattern_replaces(const Network& network, const std::string& pattern) {
  std::optional<Error> first;
  for (const int index : convolutions(network)) {
    const std::string& name = network.layer(index).name;
    if (!glob_match(pattern, name)) continue;
    const auto site = site_of(network, index);
    if (site) return;
    if (!first)
      first = input_error("replace pattern `{}` matches no convolution of `{}` that can be replaced", pattern,
                          network.name())
                  .note(fmt::format("`{}`: {}", name, site.rejection().str()));
  }
  if (first) throw *first;
}

Error nothing_replaced(const Network& network, const SiteFilter& filter, const std::vector<KeptConv>& kept) {
  Error error = input_error("nothing is replaced in `{}`", network.name());
  if (kept.empty()) return error.note("it has no convolution");
  for (std::size_t i = 0; i < std::min<std::size_t>(3, kept.size()); ++i)
    error.note(fmt::format("`{}` stays: {}", kept[i].name, kept[i].reason));
  if (kept.size() > 3) error.note(fmt::format("and {} more", kept.size() - 3));
  const auto possible = [&](const KeptConv& conv) { return site_of(network, conv.layer).ok(); };
  const auto open = [&](const KeptConv& conv) { return possible(conv) && !matching(filter.keep, conv.name); };
  if (const auto count = std::count_if(kept.begin(), kept.end(), open); count > 0)
    error.note(fmt::format("with replace pattern `*`, {} would be replaced", count));
  else if (const auto all = std::count_if(kept.begin(), kept.end(), possible); all > 0)
    error.note(fmt::format("with replace pattern `*` and no keep pattern, {} would be replaced", all));
  return error;
}

}  // namespace

Outcome<Site> site_of(const Network& network, int layer) {
  const Layer& node = network.layer(layer);
  const auto* conv = std::get_if<layer::Conv>(&node.op);
  if (conv == nullptr) return Rejection{"the layer is a convolution", fmt::format("it is `{}`", op_text(node.op))};
  const Shape3 in = network.input_of(layer);
  const auto reduced = [&](std::int64_t extent) { return (extent + conv->stride - 1) / conv->stride; };
  if (node.out.h != reduced(in.h) || node.out.w != reduced(in.w))
    return Rejection{"the output is the input divided by the stride, rounded up",
                     fmt::format("{}x{} from {}x{} at stride {}", node.out.h, node.out.w, in.h, in.w, conv->stride)};
  return Site{conv->in, conv->out, node.out.h, node.out.w, conv->stride};
}

Selection select_sites(const Network& network, const SiteFilter& filter) {
  for (const std::string& pattern : filter.replace) {
    check_pattern_matches(network, pattern, "replace");
    check_pattern_replaces(network, pattern);
  }
  for (const std::string& pattern : filter.keep) check_pattern_matches(network, pattern, "keep");
  Selection selection;
  for (const int index : convolutions(network)) {
    const Layer& conv = network.layer(index);
    if (const auto reason = reason_to_keep(network, index, filter))
      selection.kept.push_back({index, conv.name, *reason, conv.cost()});
    else
      selection.replaced.push_back({index, conv.name, *site_of(network, index), conv.cost()});
  }
  if (selection.replaced.empty()) throw nothing_replaced(network, filter, selection.kept);
  return selection;
}

std::vector<SiteRef> find_sites(const Network& network, const SiteFilter& filter) {
  return select_sites(network, filter).replaced;
}

std::vector<DistinctSite> distinct_sites(const std::vector<SiteRef>& sites) {
  std::vector<DistinctSite> result;
  for (const SiteRef& ref : sites) {
    auto found =
        std::find_if(result.begin(), result.end(), [&](const DistinctSite& other) { return other.site == ref.site; });
    if (found == result.end()) found = result.insert(result.end(), {ref.site, 0, {}});
    ++found->count;
    found->cost += ref.cost;
  }
  return result;
}

}  // namespace kasimir
