// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/jpeg.h"

#include "kasimir/base/error.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h uses FILE and does not include it
#include <string>

#include <jpeglib.h>

#include <jerror.h>

namespace kasimir {
namespace {

/// What libjpeg's callbacks need. Plain data, so that a long jump skips no destructor.
struct JpegState {
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  std::jmp_buf failed;
  int code;  // libjpeg's number of the reason
  char reason[JMSG_LENGTH_MAX];
};

[[noreturn]] void stop(j_common_ptr decoder) {
  auto* state = static_cast<JpegState*>(decoder->client_data);
  state->code = decoder->err->msg_code;
  decoder->err->format_message(decoder, state->reason);
  std::longjmp(state->failed, 1);
}

/// Warnings that mean lost pixels. The others (bytes between segments, unknown versions) leave the image whole.
bool loses_pixels(int code) {
  switch (code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      return true;
    default:
      return false;
  }
}

void on_message(j_common_ptr decoder, int level) {
  if (level < 0 && loses_pixels(decoder->err->msg_code)) stop(decoder);
}

// The two functions that hold a jump target have no objects with destructors, and none lives in libjpeg's frames.

bool read_header(JpegState* state, const unsigned char* data, unsigned long size) {
  state->decoder.err = jpeg_std_error(&state->errors);
  state->errors.error_exit = stop;
  state->errors.emit_message = on_message;
  state->decoder.client_data = state;
  if (setjmp(state->failed) != 0) return false;
  jpeg_create_decompress(&state->decoder);
  jpeg_mem_src(&state->decoder, data, size);
  jpeg_read_header(&state->decoder, TRUE);
  state->decoder.out_color_space = JCS_RGB;
  return true;
}

bool read_pixels(JpegState* state, unsigned char* rgb) {
  if (setjmp(state->failed) != 0) return false;
  jpeg_start_decompress(&state->decoder);
  while (state->decoder.output_scanline < state->decoder.output_height) {
    JSAMPROW row = rgb + std::size_t{3} * state->decoder.output_width * state->decoder.output_scanline;
    jpeg_read_scanlines(&state->decoder, &row, 1);
  }
  jpeg_finish_decompress(&state->decoder);
  return true;
}

class JpegReader {
 public:
  JpegReader() = default;
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&state_.decoder); }

  JpegState& state() { return state_; }

  [[nodiscard]] Error error(std::string_view name) const {
    std::string reason = state_.reason;
    // libjpeg writes sentences; only a capital that begins an ordinary word is made small
    if (reason.size() > 1 && reason[0] >= 'A' && reason[0] <= 'Z' && !(reason[1] >= 'A' && reason[1] <= 'Z'))
      reason[0] = static_cast<char>(reason[0] - 'A' + 'a');
    const bool early = state_.code == JWRN_JPEG_EOF || state_.code == JERR_INPUT_EOF;
    const char* kind = early ? "ends early" : loses_pixels(state_.code) ? "is damaged" : "cannot be read";
    Error result = input_error("cannot decode {}: the JPEG data {} ({})", name, kind, reason);
    result.note("remove or replace the file; nothing was changed");
    return result;
  }

 private:
  JpegState state_{};
};

}  // namespace

bool is_jpeg(std::string_view content) { return content.starts_with("\xFF\xD8"); }

DecodedImage decode_jpeg(std::string_view content, std::string_view name) {
  JpegReader reader;
  JpegState& state = reader.state();
  if (!read_header(&state, reinterpret_cast<const unsigned char*>(content.data()), content.size()))
    throw reader.error(name);
  DecodedImage image;
  image.height = static_cast<int>(state.decoder.image_height);
  image.width = static_cast<int>(state.decoder.image_width);
  image.grey = state.decoder.jpeg_color_space == JCS_GRAYSCALE;
  const std::int64_t pixels = std::int64_t{image.height} * image.width;
  if (pixels > max_image_pixels)
    throw input_error("cannot decode {}: {} x {} pixels found, at most {} pixels allowed", name, image.height,
                      image.width, max_image_pixels);
  std::vector<unsigned char> rgb(static_cast<std::size_t>(3 * pixels));
  if (!read_pixels(&state, rgb.data())) throw reader.error(name);
  const auto plane = static_cast<std::size_t>(pixels);
  image.planes.resize(3 * plane);
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c) image.planes[c * plane + i] = rgb[3 * i + c];
  }
  return image;
}

}  // namespace kasimir
