// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace kasimir {

/// C text with indentation.
class CText {
 public:
  explicit CText(int depth = 0) : depth_(depth) {}
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }
  /// A line that ends with `{`; what follows is indented until close().
  template <typename... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...) + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    add("}");
  }
  /// `for (int NAME = 0; NAME < EXTENT; NAME += STEP) {`
  void loop(const std::string& name, std::int64_t extent, std::int64_t step = 1) {
    if (step == 1) {
      open("for (int {0} = 0; {0} < {1}; ++{0})", name, extent);
    } else {
      open("for (int {0} = 0; {0} < {1}; {0} += {2})", name, extent, step);
    }
  }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  void add(const std::string& line) {
    text_.append(static_cast<std::size_t>(2 * depth_), ' ');
    text_ += line;
    text_ += '\n';
  }
  std::string text_;
  int depth_ = 0;
};

}  // namespace kasimir
