// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/coverage.h"

#include "kasimir/base/table.h"
#include "kasimir/base/text.h"

#include <fmt/format.h>

namespace kasimir {

namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double fraction) { return fmt::format("{:.1f}", 100 * fraction); }

std::vector<std::string> cost_cells(const LayerCost& cost, const LayerCost& whole) {
  return {grouped(cost.macs), percent(share(cost.macs, whole.macs)), grouped(cost.params),
          percent(share(cost.params, whole.params))};
}

template <typename... Lists>
std::vector<std::string> cells(std::vector<std::string> first, const Lists&... more) {
  (first.insert(first.end(), more.begin(), more.end()), ...);
  return first;
}

std::string site_table(const Coverage& coverage) {
  Table table({{"Ci", ""},
               {"Co", ""},
               {"H", ""},
               {"W", ""},
               {"s", ""},
               {"convs", ""},
               {"MACs", ""},
               {"share", "%"},
               {"params", ""},
               {"share", "%"}});
  for (const DistinctSite& row : coverage.sites) {
    std::vector<std::string> numbers;
    for (const std::int64_t number : {row.site.ci, row.site.co, row.site.h, row.site.w, row.site.s, row.count})
      numbers.push_back(std::to_string(number));
    table.row(cells(std::move(numbers), cost_cells(row.cost, coverage.convolutions)));
  }
  table.row(cells({"", "", "", "", "", std::to_string(coverage.replaced_count)},
                  cost_cells(coverage.replaced, coverage.convolutions)));
  return table.str();
}

std::string kept_table(const Coverage& coverage) {
  Table table({{"kept", "", Table::Align::left},
               {"MACs", ""},
               {"share", "%"},
               {"params", ""},
               {"share", "%"},
               {"why", "", Table::Align::left}});
  for (const KeptConv& conv : coverage.kept)
    table.row(cells({conv.name}, cost_cells(conv.cost, coverage.convolutions), std::vector{conv.reason}));
  return table.str();
}

}  // namespace

double Coverage::macs_share() const { return share(replaced.macs, convolutions.macs); }
double Coverage::params_share() const { return share(replaced.params, convolutions.params); }

std::string Coverage::str() const {
  std::string text = fmt::format(
      "{}: {} of {} convolutions are replaced, {} % of the convolutions' MACs and {} % of their parameters\n", network,
      replaced_count, replaced_count + std::ssize(kept), percent(macs_share()), percent(params_share()));
  text += site_table(*this);
  if (!kept.empty()) text += "\n" + kept_table(*this);
  return text;
}

Coverage coverage(const Network& network, const SiteFilter& filter) {
  Selection selection = select_sites(network, filter);
  Coverage result;
  result.network = network.name();
  result.sites = distinct_sites(selection.replaced);
  result.kept = std::move(selection.kept);
  result.replaced_count = std::ssize(selection.replaced);
  for (const SiteRef& ref : selection.replaced) result.replaced += ref.cost;
  result.convolutions = result.replaced;
  for (const KeptConv& conv : result.kept) result.convolutions += conv.cost;
  result.total = network.cost();
  return result;
}

}  // namespace kasimir
