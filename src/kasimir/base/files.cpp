// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/files.h"

#include "kasimir/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kasimir {
namespace {

/// Closes what close() has not closed.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(file, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Error refused(const char* step, const std::filesystem::path& path, int code) {
  return system_error("cannot {} {}: {}", step, path.string(), std::strerror(code));
}

/// Some file systems know no fsync; they say so by EINVAL and lose nothing that they could keep.
bool flush(int file) { return ::fsync(file) == 0 || errno == EINVAL; }

void write_in_place(const std::filesystem::path& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) throw refused("open", path, errno);
  if (!write_all(file.number(), content) || !file.close()) throw refused("write", path, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  std::filesystem::path draft;
  const auto fail = [&](const char* step) {
    const int code = errno;
    std::error_code ignored;
    if (!draft.empty()) std::filesystem::remove(draft, ignored);
    throw refused(step, path, code)
        .note("nothing was changed; free some space or choose another place and repeat the command");
  };
  const auto create = [&] {
    // Exclusive, so that two writers of one file never share a draft, be they threads or processes.
    for (int attempt = 0;; ++attempt) {
      const std::filesystem::path name = fmt::format("{}.{}-{}.part", path.string(), ::getpid(), attempt);
      const int number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (number >= 0) draft = name;
      if (number >= 0 || errno != EEXIST) return number;
    }
  };
  Descriptor file(create());
  if (file.number() < 0) fail("create");
  if (!write_all(file.number(), content) || !flush(file.number()) || !file.close()) fail("write");
  if (::rename(draft.c_str(), path.c_str()) != 0) fail("replace");
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const auto fail = [&] {
    const int code = errno;
    throw input_error("cannot read {}: {}", path.string(), code == EISDIR ? "it is a folder" : std::strerror(code));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail();
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t n = ::read(file.number(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    if (n == 0) return text;
    text.append(block, 0, static_cast<std::size_t>(n));
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  struct stat old{};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  const bool special = exists && (S_ISCHR(old.st_mode) || S_ISFIFO(old.st_mode) || S_ISSOCK(old.st_mode));
  // A rename would put a plain file in the place of /dev/stdout or of a pipe.
  if (special) return write_in_place(path, content);
  std::error_code ignored;
  const auto target = exists ? std::filesystem::canonical(path, ignored) : path;
  replace_file(target.empty() ? path : target, content, exists ? old.st_mode & 0777U : 0644U);
}

void make_folder(const std::filesystem::path& path) {
  if (path.empty()) return;  // the parent of a name without a folder
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw system_error("cannot make the folder {}: {}", path.string(), failed.message());
}

}  // namespace kasimir
