// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/dot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

extern char** environ;

namespace kasimir {
namespace {

std::string reason(int code) { return std::generic_category().message(code); }

/// A file without a name, in memory. Rather than a pipe: neither side can wait for the other, and a program that ends
/// early sends no signal to the one that writes to it.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw system_error("cannot make a file in memory: {}", reason(errno));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  void fill(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw system_error("cannot write to a file in memory: {}", reason(errno));
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    lseek(descriptor_, 0, SEEK_SET);
  }

  [[nodiscard]] std::string content() const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, lseek(descriptor_, 0, SEEK_END))), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw system_error("cannot read a file in memory: {}", reason(count < 0 ? errno : EIO));
      done += static_cast<std::size_t>(count);
    }
    return text;
  }

 private:
  int descriptor_;
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  void connect(const MemoryFile& file, int as) { posix_spawn_file_actions_adddup2(&actions_, file.descriptor(), as); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string run_dot(const std::string& program, const std::string& input) {
  MemoryFile in("dot-input");
  const MemoryFile out("dot-output");
  const MemoryFile complaint("dot-errors");
  in.fill(input);
  SpawnActions actions;
  actions.connect(in, STDIN_FILENO);
  actions.connect(out, STDOUT_FILENO);
  actions.connect(complaint, STDERR_FILENO);
  std::string name = program;
  std::string format = "-Tsvg";
  char* const arguments[] = {name.data(), format.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), actions.get(), nullptr, arguments, environ);
  if (failed != 0) {
    throw system_error("cannot run `{}`, which draws graphs: {}", program, reason(failed))
        .note("install the Debian package graphviz");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw system_error("cannot wait for `{}`: {}", program, reason(errno));
  }
  if (WIFSIGNALED(status)) throw system_error("`{}` was ended by signal {}", program, WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) {
    throw input_error("`{}` refused the graph (exit code {}): {}", program, WEXITSTATUS(status),
                      join(split(trim(complaint.content()), '\n'), "; "));
  }
  return out.content();
}

void erase_all(std::string& text, std::string_view begin, std::string_view end) {
  std::size_t from = 0;
  while ((from = text.find(begin, from)) != std::string::npos) {
    const std::size_t to = text.find(end, from + begin.size());
    if (to == std::string::npos) return;
    text.erase(from, to + end.size() - from);
  }
}

}  // namespace

std::string to_svg(const std::string& dot_text, const std::string& program) {
  std::string svg = run_dot(program, dot_text);
  const std::size_t begin = svg.find("<svg");
  if (begin == std::string::npos) throw system_error("`{}` gave no <svg> element", program);
  svg.erase(0, begin);
  erase_all(svg, "<!--", "-->\n");
  erase_all(svg, " id=\"", "\"");
  svg.erase(svg.find_last_not_of(" \n") + 1);
  return svg;
}

}  // namespace kasimir
