// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/file_range.h"

#include "kasimir/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kasimir {

RangeFile::RangeFile(const std::filesystem::path& path) : path_(path) {
  number_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number_ < 0) throw input_error("cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat facts{};
  if (::fstat(number_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(number_);
    throw input_error("cannot read {}: it is no regular file", path.string());
  }
  size_ = facts.st_size;
}

RangeFile::~RangeFile() { ::close(number_); }

std::string RangeFile::read(std::int64_t at, std::int64_t count) const {
  KASIMIR_CHECK(at >= 0 && count >= 0, "{} bytes from {}", count, at);
  std::string content(static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - at, 0, count)), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n =
        ::pread(number_, content.data() + done, content.size() - done, at + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw input_error("cannot read {}: {}", path_.string(), std::strerror(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

}  // namespace kasimir
