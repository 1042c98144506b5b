// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"
#include "kasimir/report/frame.h"
#include "kasimir/report/html.h"
#include "kasimir/report/report.h"
#include "kasimir/report/view.h"

#include <optional>
#include <string>
#include <vector>

/// The sections of a report. Each reads the view and gives a piece of the page.
namespace kasimir::report {

/// A table's cell; `value` sorts the column where it is not sorted by text.
struct Cell {
  Html content;
  std::optional<double> value = {};
  bool numeric = false;
  Cell(Html text) : content(std::move(text)) {}     // NOLINT(google-explicit-constructor)
  Cell(const std::string& text) : content(text) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* text) : content(text) {}         // NOLINT(google-explicit-constructor)
  Cell(const std::string& text, std::optional<double> sorted_by) : content(text), value(sorted_by), numeric(true) {}
};

struct Row {
  std::vector<Cell> cells;
  std::string id;  ///< of the row's element; empty: none
};

enum class TableStyle {
  plain,
  compact,  ///< its lines do not break
  sortable  ///< the same, sorted by a click on a column's name, and as high as a screen at most
};

/// A table that scrolls sideways on a narrow screen.
Html table(const std::vector<std::string>& header, const std::vector<Row>& rows, TableStyle style);

Html headline(const View& view, const study::Goal& goal);
Html trade_offs(const View& view);  ///< accuracy against latency, parameters and MACs
Html learning_curves(const View& view);
Html finalist_table(const View& view);
Html trial_table(const View& view);
Html rejections(const View& view);
Html asked_and_used(const View& view, const std::string& program);
Html command(const View& view);
/// The kernels of `view.finalists` or `view.others`: graph, text, explanation and costs.
Html kernel_cards(const View& view, const std::vector<std::size_t>& rows, Catalog catalog, const std::string& dot);

/// All sections of a study's report, in their order.
std::vector<Section> report_sections(const View& view, Catalog catalog, const ReportOptions& options);

}  // namespace kasimir::report
