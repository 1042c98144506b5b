// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/loads.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// One accelerator, as a search sees it.
struct Accelerator {
  LoadTable loads;
  /// Of each part, adding up to 1: by what share the cost of the best accelerator grows when this part's load grows by
  /// one share. By the envelope theorem the right weights where hardware is made anew under a binding budget;
  /// where nothing binds, the indicator of the slowest part.
  std::vector<double> duals;
  std::string text;                ///< for people: shapes of the chunks, resources
  std::vector<std::size_t> shape;  ///< of each part, a number of the target that made it; may be empty
};

/// A description for other programs: a name, which may begin with a folder's, and its text.
struct TargetFile {
  std::string name;
  std::string text;
};

/// The hardware side of a search: what networks of a space cost.
class HardwareTarget {
 public:
  virtual ~HardwareTarget() = default;

  [[nodiscard]] virtual const ChoiceSpace& space() const = 0;
  /// What `cost` counts: "cycles per frame", "pJ", "pJ cycles", "us".
  [[nodiscard]] virtual std::string unit() const = 0;
  /// The accelerator that is best for the design, with the loads of all choices on it.
  virtual Accelerator optimise(const ChoiceDesign& design) = 0;
  /// What the design costs on the accelerator that is best for it; infinity if none within the budget runs it.
  virtual double cost(const ChoiceDesign& design) = 0;
  /// What the design costs on an accelerator that stays; infinity if it does not run on it.
  virtual double cost_on(const Accelerator& accelerator, const ChoiceDesign& design) {
    return cost_of(accelerator.loads, design);
  }
  /// A table whose cost_of no accelerator beats, for any design: prunes the decoder. Exact: equal to `cost`.
  struct Bound {
    LoadTable loads;
    bool exact = false;
  };
  /// `near`: a design about which the bound should be tight.
  virtual Bound bound(const ChoiceDesign& near) = 0;
  /// How many costs a decoder may ask for: fewer where an answer takes milliseconds.
  [[nodiscard]] virtual std::size_t affordable_looks() const { return 2000; }
  /// What describes the accelerator that is best for the design, with the layers and how they run on it.
  virtual std::vector<TargetFile> files(const ChoiceDesign& /*design*/) { return {}; }
  /// Whether the accelerator changes with the network at all.
  [[nodiscard]] virtual bool adapts() const { return true; }
};

/// Hardware that is what it is, with costs from a table: measured latencies of this CPU, tables of others.
class TableTarget : public HardwareTarget {
 public:
  TableTarget(ChoiceSpace space, LoadTable table, std::string unit);

  [[nodiscard]] const ChoiceSpace& space() const override { return space_; }
  [[nodiscard]] std::string unit() const override { return unit_; }
  Accelerator optimise(const ChoiceDesign& design) override;
  double cost(const ChoiceDesign& design) override { return cost_of(table_, design); }
  Bound bound(const ChoiceDesign& near) override;
  /// `costs.csv`, where the costs have one part.
  std::vector<TargetFile> files(const ChoiceDesign& design) override;
  [[nodiscard]] bool adapts() const override { return false; }

 private:
  ChoiceSpace space_;
  LoadTable table_;
  std::string unit_;
};

/// Reads costs as CSV: a header `block,op,bits,cost`, one choice a line; a line with `-` for block, operator and bits
/// holds what is outside all blocks. Empty lines and lines that begin with # are skipped. Costs add up.
/// @throws Error (input) with file and line for an unknown name, a second line for a choice, a choice without a line.
LoadTable parse_load_table(std::string_view text, const std::string& file, const ChoiceSpace& space);
/// The table as such a CSV. Needs one part.
std::string load_table_text(const LoadTable& table, const ChoiceSpace& space);

}  // namespace kasimir
