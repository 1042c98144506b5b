// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/codegen/dot.h"
#include "kasimir/kernel/binding_at.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/report/parts.h"
#include "kasimir/size/size.h"
#include "kasimir/study/assignment.h"

#include <algorithm>
#include <cmath>

namespace kasimir::report {
namespace {

using study::Counts;
using study::TrialSummary;

std::vector<Site> sites_to_check(const View& view, const Kernel& kernel) {
  std::vector<Site> sites;
  for (const ReplacedSite& row : view.sites) sites.push_back(row.site);
  if (sites.empty())
    for (const auto& [site, fit] : kernel.fits) sites.push_back(site);
  return sites;
}

Html message(const std::string& text) { return element("p", {{"class", "note"}}, text); }

Html graph_picture(const Kernel& kernel, const SiteSet& sites, const std::string& dot) {
  try {
    return element("div", {{"class", "graph"}}, Html::markup(to_svg(to_dot(kernel, sites), dot)));
  } catch (const Error& error) {
    if (error.fault() == Fault::bug) throw;
    return message(fmt::format("The graph is not drawn: {}", error.what()));
  }
}

Html swatch(Family family) {
  return element("span", {{"class", "swatch"}, {"style", fmt::format("background:{}", family_colour(family))}});
}

Html explanation(const Kernel& kernel, const SiteSet& sites) {
  const auto shapes = infer_shapes(kernel, sites);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const Primitive& primitive = *kernel.steps[i].primitive;
    const std::string step = fmt::format("{} = {}", tensor_name(static_cast<int>(i) + 1), str(kernel.steps[i]));
    rows.push_back({{element("code", step), shapes ? Html(str((*shapes)[i + 1])) : Html(),
                     swatch(primitive.family) + fmt::format("{}: {}", family_name(primitive.family), primitive.brief)},
                    ""});
  }
  return table({"step", "shape", "what it does"}, rows, TableStyle::plain);
}

std::int64_t rounded(double value) { return std::llround(value); }

/// What the kernel costs at a site, for all convolutions there.
std::optional<Counts> counts_at(const Kernel& kernel, const Cost& cost, const ReplacedSite& row) {
  const auto binding = binding_at(kernel, row.site);
  if (!binding) return std::nullopt;
  return Counts{row.count * rounded(cost.macs.value_at(*binding)), row.count * rounded(cost.params.value_at(*binding))};
}

std::string beside(std::int64_t value, const std::optional<Counts>& original, std::int64_t Counts::* count) {
  std::string text = grouped(value);
  if (original) text += " of " + grouped((*original).*count);
  return text;
}

void add_counts(std::vector<Cell>& cells, const std::optional<Counts>& own, const std::optional<Counts>& original) {
  for (const auto count : {&Counts::macs, &Counts::params}) {
    if (!own) {
      cells.emplace_back("free symbols without a value");
      cells.emplace_back("");
      continue;
    }
    const auto share = original ? ratio((*own).*count, (*original).*count) : std::nullopt;
    cells.emplace_back(beside((*own).*count, original, count), static_cast<double>((*own).*count));
    cells.emplace_back(ratio_text(share), share);
  }
}

Html site_costs(const View& view, const Kernel& kernel, const Cost& cost) {
  std::vector<ReplacedSite> sites = view.sites;
  if (sites.empty())
    for (const auto& [site, fit] : kernel.fits) sites.push_back({site, 1, std::nullopt});
  if (sites.empty()) return message("The study's specification names no sites.");
  std::vector<Row> rows;
  Counts own_total;
  Counts original_total;
  bool complete = true;
  for (const ReplacedSite& site : sites) {
    const auto own = counts_at(kernel, cost, site);
    Row row{{site.site.str(), Cell(std::to_string(site.count), static_cast<double>(site.count)),
             kernel.fit_at(site.site).str()},
            ""};
    add_counts(row.cells, own, site.original);
    rows.push_back(std::move(row));
    complete = complete && own && site.original;
    if (!complete) continue;
    own_total = {own_total.macs + own->macs, own_total.params + own->params};
    original_total = {original_total.macs + site.original->macs, original_total.params + site.original->params};
  }
  if (complete && rows.size() > 1) {
    Row total{{element("strong", "all"), "", ""}, ""};
    add_counts(total.cells, own_total, original_total);
    rows.push_back(std::move(total));
  }
  return table(
      {"site", "count", "free symbols", "MACs, kernel of original", "ratio", "parameters, kernel of original", "ratio"},
      rows, TableStyle::compact);
}

Html costs(const View& view, const Kernel& kernel, const SiteSet& sites) {
  const auto graph = lower(kernel, sites);
  if (!graph) return message("The costs are not known: " + graph.rejection().str());
  const Cost cost = kasimir::cost(*graph);
  const Html formula = element("p", "MACs at a site: ") + element("pre", cost.macs.str()) +
                       element("p", "Parameters at a site: ") + element("pre", cost.params.str());
  return site_costs(view, kernel, cost) + element("details", element("summary", "As formulas") + formula);
}

/// Each site with a link to the card of the kernel that stands there.
Html assigned(const View& view, const std::string& text) {
  std::vector<Row> rows;
  for (const auto& [site, trial] : study::parse_assignment(text)) {
    const auto row = std::ranges::find(view.rows, trial, &TrialSummary::number);
    const std::string name = row == view.rows.end() ? "?" : kernel_name(row->kernel);
    rows.push_back(
        {{site, trial == 0 ? Html(name)
                           : element("a", {{"href", fmt::format("#kernel-{}", trial)}},
                                     fmt::format("{} (trial {})", name, trial))},
         ""});
  }
  return table({"site", "kernel"}, rows, TableStyle::compact);
}

Html body(const View& view, const std::string& text, Catalog catalog, const std::string& dot) {
  if (study::is_assignment(text)) return assigned(view, text);
  std::optional<Kernel> kernel;
  try {
    kernel = parse_kernel(text, catalog, "the study's kernel");
  } catch (const Error& error) {
    if (error.fault() == Fault::bug) throw;
    return element("pre", {{"class", "copy"}}, text) +
           message(fmt::format("This version cannot read the kernel: {}", error.what()));
  }
  const SiteSet sites(sites_to_check(view, *kernel), kernel->choices);
  const Html words =
      element("pre", {{"class", "copy"}}, text) + element("h4", "Step by step") + explanation(*kernel, sites);
  return element("div", {{"class", "pair"}}, element("div", words) + graph_picture(*kernel, sites, dot)) +
         element("h4", "Cost at each site") + costs(view, *kernel, sites);
}

std::string facts(const View& view, std::size_t row) {
  const TrialSummary& s = view.rows[row];
  std::vector<std::string> parts{
      fmt::format("{}, rung {}", study::name_of(s.state), s.rung ? study::name_of(*s.rung) : "none"),
      accuracy_text(s.accuracy)};
  if (const auto r = ratio(s.network.macs, view.rows.front().network.macs))
    parts.push_back(fmt::format("{} of the MACs", percent(*r)));
  if (const auto r = ratio(s.network.params, view.rows.front().network.params))
    parts.push_back(fmt::format("{} of the parameters", percent(*r)));
  if (s.latency_ratio) parts.push_back(fmt::format("{} of the latency", percent(s.latency_ratio->value)));
  return join(parts, ", ");
}

Html card(const View& view, std::size_t row, Catalog catalog, const std::string& dot) {
  const TrialSummary& s = view.rows[row];
  Html html = element("h3", fmt::format("{}, trial {}", kernel_name(s.kernel), s.number));
  html += element("p", facts(view, row));
  html += body(view, s.kernel, catalog, dot);
  const study::Json& use = view.trials.at(row).budget_use;
  if (!use.is_null() && !use.empty()) html += message("Budget: " + in_words(use));
  const study::Json& origin = view.trials.at(row).origin;
  if (!origin.is_null() && !origin.empty()) html += message("Proposed by: " + in_words(origin));
  return element("article", {{"id", fmt::format("kernel-{}", s.number)}}, html);
}

Html legend() {
  Html entries;
  for (const Family family : {Family::rearranging, Family::arithmetic, Family::blending})
    entries += element("li", swatch(family) + family_name(family));
  return element("ul", {{"class", "legend"}}, entries + element("li", "thick border: learned weights"));
}

}  // namespace

Html kernel_cards(const View& view, const std::vector<std::size_t>& rows, Catalog catalog, const std::string& dot) {
  if (rows.empty()) return element("p", "None yet.");
  Html html = legend();
  for (const std::size_t row : rows) html += card(view, row, catalog, dot);
  return html;
}

}  // namespace kasimir::report
