// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_transfer.h"

#include "kasimir/codegen/c_team.h"

namespace kasimir {

void write_images(CText& text, const BoundTensor& tensor, const TensorLayout& here, std::int64_t place,
                  ImageLayout layout, std::int64_t images, bool into, bool shared) {
  const auto& axes = tensor.axes;
  const std::int64_t c = axes[1].extent;
  const std::int64_t h = axes[2].extent;
  const std::int64_t w = axes[3].extent;
  text.loop("n", images);
  if (shared) {
    open_shared(text, "h", 0, h, 1, false);
  } else {
    text.loop("h", h);
  }
  text.loop("w", w);
  text.open("for (int c = 0; c < {}; ++c)", c);
  const std::string outside = layout == ImageLayout::nchw
                                  ? fmt::format("(((first + n) * {} + c) * {} + h) * {} + w", c, h, w)
                                  : fmt::format("(((first + n) * {} + h) * {} + w) * {} + c", h, w, c);
  const std::string inside =
      fmt::format("W[{} + (first + n) % {} * {} + c * {} + h * {} + w * {}]", here.origin + place, axes[0].extent,
                  here.strides[0], here.strides[1], here.strides[2], here.strides[3]);
  if (into) {
    text.line("{} = in[{}];", inside, outside);
  } else {
    text.line("out[{}] = {};", outside, inside);
  }
  for (int i = 0; i < 4; ++i) text.close();
}

}  // namespace kasimir
