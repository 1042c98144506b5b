// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/gzip.h"

#include "kasimir/base/error.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace kasimir {
namespace {

class Inflater {
 public:
  Inflater() {
    constexpr int gzip_only = 15 + 16;
    const int code = ::inflateInit2(&stream, gzip_only);
    KASIMIR_CHECK(code == Z_OK, "zlib answers {}", code);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream); }

  z_stream stream{};
};

}  // namespace

std::string gunzip(std::string_view packed, std::string_view name) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::string content;
  std::vector<unsigned char> block(1 << 18);
  std::size_t fed = 0;
  while (true) {
    if (stream.avail_in == 0) {
      // zlib counts in 32 bits
      const std::size_t piece = std::min(packed.size() - fed, std::size_t{1} << 30);
      // zlib only reads from it, though its declaration does not say so
      stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data())) + fed;
      stream.avail_in = static_cast<uInt>(piece);
      fed += piece;
    }
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(block.size());
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    content.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0 && fed == packed.size()) return content;
      ::inflateReset(&stream);
    } else if (code == Z_BUF_ERROR) {
      throw input_error("{}: the gzip data ends early ({} bytes found, {} bytes unpacked from them)", name,
                        packed.size(), content.size())
          .note("get the file again; nothing was changed");
    } else if (code != Z_OK) {
      throw input_error("{}: the gzip data is damaged ({})", name,
                        stream.msg != nullptr ? stream.msg : "no reason given")
          .note("get the file again; nothing was changed");
    }
  }
}

}  // namespace kasimir
