// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/schedule.h"

#include "kasimir/base/error.h"
#include "kasimir/nest/expression.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/substitute.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

Nest nest_of(const BoundGraph& graph, const BoundStage& stage) {
  Nest nest;
  nest.name = graph.tensors[static_cast<std::size_t>(stage.out)].name;
  std::vector<int> loop_of(stage.iters.size(), -1);
  const auto take = [&](int iter) {
    loop_of[static_cast<std::size_t>(iter)] = static_cast<int>(nest.loops.size());
    nest.loops.push_back(stage.iters[static_cast<std::size_t>(iter)]);
  };
  for (const LeftAxis& axis : stage.left) {
    BoundCoord coord;
    for (int digit : axis.digits) {
      const std::int64_t extent = stage.iters[static_cast<std::size_t>(digit)].extent;
      for (auto& term : coord.terms) term.second *= extent;
      take(digit);
      coord.terms.emplace_back(loop_of[static_cast<std::size_t>(digit)], 1);
    }
    nest.out_at.push_back(std::move(coord));
  }
  nest.free = static_cast<int>(nest.loops.size());
  for (int iter : stage.reduced) take(iter);
  nest.out = stage.out;
  nest.reduce = stage.reduce;
  nest.factor = stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
  for (const BoundNode& node : stage.nodes) {
    if (const auto* read = std::get_if<BoundRead>(&node)) {
      BoundRead moved = *read;
      for (BoundCoord& coord : moved.at)
        for (auto& term : coord.terms) term.first = loop_of[static_cast<std::size_t>(term.first)];
      nest.value.emplace_back(std::move(moved));
    } else {
      std::visit([&](const auto& other) { nest.value.emplace_back(other); }, node);
    }
  }
  return nest;
}

/// A coordinate of `follower`'s loops as one of the nest's: `forms[loop]` says what each loop is.
BoundCoord rewritten(const BoundCoord& coord, const std::vector<BoundCoord>& forms) {
  BoundCoord result{{}, coord.offset, coord.wrap};
  for (const auto& [loop, factor] : coord.terms)
    for (const auto& [inner, coefficient] : forms[static_cast<std::size_t>(loop)].terms)
      result.terms.emplace_back(inner, factor * coefficient);
  return result;
}

/// What each loop of the follower is in the nest's loops, if it reads the nest's result exactly once per element.
std::optional<std::vector<BoundCoord>> same_loops(const Nest& nest, const Nest& follower, const BoundRead& read) {
  std::vector<BoundCoord> forms(follower.loops.size());
  std::vector<bool> seen(follower.loops.size(), false);
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    const BoundCoord& coord = read.at[a];
    std::int64_t extent = 1;
    for (const auto& [loop, factor] : nest.out_at[a].terms) extent *= nest.loops[static_cast<std::size_t>(loop)].extent;
    if (coord.offset != 0 || coord.wrap) return std::nullopt;
    if (coord.terms.empty() && extent == 1) continue;
    if (coord.terms.size() != 1 || coord.terms[0].second != 1) return std::nullopt;
    const auto loop = static_cast<std::size_t>(coord.terms[0].first);
    if (seen[loop] || follower.loops[loop].extent != extent) return std::nullopt;
    seen[loop] = true;
    forms[loop] = nest.out_at[a];
  }
  for (std::size_t loop = 0; loop < seen.size(); ++loop)
    if (!seen[loop] && follower.loops[loop].extent != 1) return std::nullopt;
  return forms;
}

/// Register blocks of products finish at plain addresses.
bool wraps_behind_products(const Nest& nest, const Nest& follower) {
  bool wraps = false;
  for_each_read(follower, [&](const BoundRead& read) {
    wraps = wraps || std::ranges::any_of(read.at, [](const BoundCoord& coord) { return coord.wrap.has_value(); });
  });
  return wraps && sums_products(nest) && nest.points() / nest.results() >= 4;
}

/// Makes the follower the epilogue of the nest whose result `tensor` it reads; false where it does not fit.
bool attach(Nest& nest, const Nest& follower) {
  const int tensor = nest.out;
  if (nest.reduce == Reduce::none || !nest.epilogue.empty()) return false;
  if (follower.reduce != Reduce::none || follower.factor != 1.0 || wraps_behind_products(nest, follower)) return false;
  const BoundRead* found = nullptr;
  for (const NestNode& node : follower.value) {
    const auto* read = std::get_if<BoundRead>(&node);
    if (read == nullptr || read->tensor != tensor) continue;
    if (found != nullptr && !(*found == *read)) return false;
    found = read;
  }
  if (found == nullptr) return false;
  const auto forms = same_loops(nest, follower, *found);
  if (!forms || follower.results() != nest.results()) return false;
  std::vector<NestNode> epilogue;
  for (const NestNode& node : follower.value) {
    if (const auto* read = std::get_if<BoundRead>(&node)) {
      if (read->tensor == tensor) {
        epilogue.emplace_back(Reduced{});
        continue;
      }
      BoundRead moved{read->tensor, {}};
      for (const BoundCoord& coord : read->at) moved.at.push_back(rewritten(coord, *forms));
      epilogue.emplace_back(std::move(moved));
    } else {
      epilogue.push_back(node);
    }
  }
  // A copy only gives the result another name and other axes.
  if (epilogue.size() > 1) nest.epilogue = std::move(epilogue);
  std::vector<BoundCoord> out_at;
  for (const BoundCoord& coord : follower.out_at) out_at.push_back(rewritten(coord, *forms));
  nest.out_at = std::move(out_at);
  nest.out = follower.out;  // the name stays that of what is reduced
  return true;
}

/// The nest computed last among those that the follower reads: everything else that it needs is there before.
Nest* last_read(std::vector<Nest>& nests, const Nest& follower) {
  for (std::size_t i = nests.size(); i-- > 0;) {
    bool reads = false;
    for_each_read(follower, [&](const BoundRead& read) { reads = reads || read.tensor == nests[i].out; });
    if (reads) return &nests[i];
  }
  return nullptr;
}

}  // namespace

NestProgram schedule(const BoundGraph& graph) {
  NestProgram program;
  program.tensors = graph.tensors;
  program.known = weight_only(graph);
  program.input = graph.input;
  program.output = graph.output;
  std::vector<int> readers(graph.tensors.size(), 0);
  for (const BoundStage& stage : graph.stages) {
    KASIMIR_CHECK(!stage.stat, "a batch statistic is left in {}", str(graph, stage));
    std::vector<int> read;
    for (const BoundNode& node : stage.nodes)
      if (const auto* of = std::get_if<BoundRead>(&node)) read.push_back(of->tensor);
    std::ranges::sort(read);
    const auto repeated = std::ranges::unique(read);
    read.erase(repeated.begin(), repeated.end());
    for (int tensor : read) ++readers[static_cast<std::size_t>(tensor)];
  }
  ++readers[static_cast<std::size_t>(graph.output)];
  for (const BoundStage& stage : graph.stages) {
    Nest nest = nest_of(graph, stage);
    if (program.known[static_cast<std::size_t>(stage.out)]) {
      program.prepare.push_back(std::move(nest));
      continue;
    }
    Nest* before = last_read(program.run, nest);
    if (before != nullptr && readers[static_cast<std::size_t>(before->out)] == 1 && attach(*before, nest)) continue;
    program.run.push_back(std::move(nest));
  }
  const auto& images = graph.tensors[static_cast<std::size_t>(graph.input)].axes;
  program.batch = images.empty() ? 1 : images[0].extent;
  program.segments = {{0, program.run.size(), program.batch}};
  return program;
}

}  // namespace kasimir
