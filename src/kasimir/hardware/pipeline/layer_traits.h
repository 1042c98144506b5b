// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/chunk.h"

namespace kasimir {

/// What code for both cost modes asks of a layer.
inline bool is_depthwise(const PaperLayer& layer) { return layer.depthwise; }
inline bool is_depthwise(const SoundLayer& layer) { return layer.layer.depthwise(); }

/// Rows of the output.
inline double out_rows(const PaperLayer& layer) { return layer.size; }
inline double out_rows(const SoundLayer& layer) { return layer.layer.out_h(); }

/// The layer's cost on a chunk of `bits`, in its own mode.
inline ChunkLayerCost cost_on(const PaperLayer& layer, const ChunkShape& shape, int bits) {
  return paper_layer_cost(layer, shape, bits);
}
inline ChunkLayerCost cost_on(const SoundLayer& layer, const ChunkShape& shape, int bits) {
  return sound_layer_cost(layer, shape, {bits, bits});
}

/// Equal layers cost the same whatever their names.
inline PaperLayer nameless(const PaperLayer& layer) { return layer; }
inline SoundLayer nameless(SoundLayer layer) {
  layer.layer.name.clear();
  return layer;
}

/// DSP blocks of a chunk of such layers besides its multipliers.
inline double overhead_dsp(const PaperLayer&) { return 0; }
inline double overhead_dsp(const SoundLayer&) { return chunk_address_dsp; }

}  // namespace kasimir
