// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/cosearch/chunk_target.h"

#include <set>

namespace kasimir {
namespace {

/// A layer as a file's name.
std::string file_name(std::size_t number, const std::string& chunk, const std::string& layer) {
  std::string made = fmt::format("timeloop/{:02}-{}-", number, chunk);
  for (const char c : layer) made += c == '/' || c == ' ' ? '_' : c;
  return made + ".yaml";
}

}  // namespace

PipelineDescription ChunkTarget::describe(const ChoiceDesign& design) {
  require_legal(design, space_);
  const Accelerator accelerator = optimise(design);
  PipelineDescription made{options_.name, options_.clock_mhz, options_.budget, {}};
  std::vector<std::vector<SoundLayer>> on_chunk(chunks_.size());
  const auto take = [&](const std::vector<LayerUse>& uses, const std::vector<LayerPlace>& places) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto* layer = std::get_if<SoundLayer>(&uses[i].layer);
      if (layer == nullptr) throw input_error("layers of cost mode `paper` have no description");
      on_chunk[places[i].chunk].push_back(*layer);
    }
  };
  take(layers_.outside, outside_);
  for (std::size_t l = 0; l < design.size(); ++l)
    take(layers_.choices[l][design[l].op][design[l].bits], places_[l][design[l].op][design[l].bits]);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (on_chunk[c].empty()) continue;
    const bool depthwise = on_chunk[c].front().layer.depthwise();
    made.chunks.push_back(
        {chunks_[c].name, depthwise, chunks_[c].bits, chunks_[c].shapes[accelerator.shape[c]], std::move(on_chunk[c])});
  }
  return made;
}

std::vector<TargetFile> ChunkTarget::files(const ChoiceDesign& design) {
  const bool paper =
      !chunks_.front().kinds.empty() && std::holds_alternative<PaperLayer>(chunks_.front().kinds.front());
  if (paper) return {};
  const PipelineDescription pipeline = describe(design);
  std::vector<TargetFile> made{{"accelerator.toml", to_toml(pipeline)}};
  for (const DescribedChunk& chunk : pipeline.chunks)
    for (std::size_t i = 0; i < chunk.layers.size(); ++i)
      made.push_back({file_name(made.size(), chunk.name, chunk.layers[i].layer.name),
                      timeloop_text(chunk, i, pipeline.clock_mhz).text});
  return made;
}

}  // namespace kasimir
