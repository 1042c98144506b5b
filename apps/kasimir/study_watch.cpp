// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study_watch.h"

#include "kasimir/cosearch_folder.h"
#include "kasimir/options.h"
#include "kasimir/stop.h"

#include "kasimir/base/error.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/text.h"
#include "kasimir/report/watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace kasimir {
namespace {

/// Columns and rows of the terminal; of one that does not say, the usual ones.
std::pair<std::size_t, std::size_t> terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

/// The first `width` characters of UTF-8.
std::string cut(const std::string& line, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i)
    if ((static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80 && ++characters > width) return line.substr(0, i);
  return line;
}

/// Draws blocks over each other. What does not fit is cut: a line that wraps or scrolls cannot be drawn over.
class Screen {
 public:
  void draw(const std::string& text) {
    const auto [width, height] = terminal_size();
    std::vector<std::string> lines = split(trim(text), '\n');
    if (lines.size() + 1 > height) lines.resize(std::max<std::size_t>(height, 2) - 1);
    if (drawn_ > 0) fmt::print("\x1b[{}F", drawn_);  // to the start of the line so many above
    for (const std::string& line : lines) fmt::print("{}\x1b[K\n", cut(line, width));
    fmt::print("\x1b[J");  // what a longer block has left
    std::fflush(stdout);
    drawn_ = lines.size();
  }

 private:
  std::size_t drawn_ = 0;
};

}  // namespace

int watch(const StudyWatch& options) {
  if (is_cosearch_folder(options.path))
    throw input_error("{} is a joint search, whose page is a file: {}", options.path,
                      cosearch_page_of(options.path).string());
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  const double every = options.every.empty() ? (on_terminal ? 2 : 60) : parse_seconds(options.every);
  const std::atomic<int>& stop = catch_interrupts();
  Screen screen;
  for (bool first = true;; first = false) {
    // Opened anew each time: a connection to a server, or a file that was moved, is not missed for long.
    const auto block = report::watch_block(study::Store::view(options.path), study::wall_clock());
    if (on_terminal) {
      screen.draw(block.text);
    } else {
      fmt::print("{}{}", first ? "" : "\n", block.text);
      std::fflush(stdout);
    }
    if (block.finished) return 0;
    const Stopwatch waiting;
    while (waiting.seconds() < every) {
      if (stop.load() != study::go_on) return 130;  // what a shell says of a program that Ctrl-C ended
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace kasimir
