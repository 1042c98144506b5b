// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/size/size.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace kasimir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::vector<std::string> symbol_names() {
  std::vector<std::string> names;
  for (int i = 0; i < symbol_count; ++i) names.emplace_back(symbol_name(static_cast<Symbol>(i)));
  return names;
}

/// Recursive descent over `sum := ['-'] size (('+' | '-') size)*`, `size := power (('*' | '/') power)*`,
/// `power := atom ['^' ['-'] digits]`, `atom := digits | symbol | '(' ['-'] size ')'`; spaces between tokens.
class Parser {
 public:
  Parser(std::string_view kind, std::string_view text) : kind_(kind), text_(text) { skip_space(); }

  Size whole_size() {
    const Size size = signed_size();
    expect_end("`*`, `/` or the end");
    return size;
  }

  SizeSum whole_sum() {
    SizeSum sum = signed_size();
    while (!at_end()) {
      const bool minus = accept('-');
      if (!minus && !accept('+')) fail("`*`, `/`, `+`, `-` or the end");
      const Size term = size(minus);
      guarded([&] { sum += term; });
    }
    return sum;
  }

 private:
  static constexpr int depth_limit = 32;

  Size signed_size() { return size(accept('-')); }

  Size size(bool negative) {
    Size result = power(negative);
    for (;;) {
      if (accept('*')) {
        const Size factor = power(false);
        guarded([&] { result *= factor; });
      } else if (accept('/')) {
        const Size factor = power(false);
        guarded([&] { result /= factor; });
      } else {
        return result;
      }
    }
  }

  Size power(bool negative) {
    // 2^63 exists with a minus sign only, so the sign belongs to the number that follows it.
    if (negative && smallest_number()) return std::numeric_limits<std::int64_t>::min();
    Size base = atom();
    if (accept('^')) {
      const int exponent = this->exponent();
      guarded([&] { base = base.pow(exponent); });
    }
    if (negative) guarded([&] { base = base.negated(); });
    return base;
  }

  bool smallest_number() {
    if (token() != "9223372036854775808") return false;
    advance(token().size());
    return true;
  }

  Size atom() {
    const std::string_view found = token();
    if (!found.empty() && is_digit(found[0])) return number(found);
    if (!found.empty() && is_letter(found[0])) return symbol(found);
    if (!accept('(')) fail("a number or a symbol");
    if (++depth_ > depth_limit) fail(fmt::format("at most {} nested parentheses", depth_limit));
    const Size inner = signed_size();
    if (!accept(')')) fail("`*`, `/` or `)`");
    --depth_;
    return inner;
  }

  std::int64_t number(std::string_view found) {
    std::int64_t value = 0;
    const auto [stop, code] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (code != std::errc()) {
      throw input_error("{} `{}`: the number {} at column {} overflows 64 bits", kind_, text_, found, column());
    }
    if (stop != found.data() + found.size()) {
      advance(static_cast<std::size_t>(stop - found.data()));
      fail("`*` between a number and a symbol");
    }
    advance(found.size());
    return value;
  }

  Size symbol(std::string_view found) {
    const auto known = symbol_from_name(found);
    if (!known) {
      throw input_error("unknown symbol `{}` in {} `{}` at column {}, {}", found, kind_, text_, column(),
                        suggestion(found, symbol_names()));
    }
    advance(found.size());
    return *known;
  }

  int exponent() {
    const bool negative = accept('-');
    const std::string_view found = token();
    if (found.empty() || !is_digit(found[0])) fail("a whole number as power");
    const std::size_t begin = column();
    const std::int64_t value = number(found);
    if (value > std::numeric_limits<int>::max()) {
      throw input_error("{} `{}`: the number {} at column {} is too large for a power", kind_, text_, value, begin);
    }
    return static_cast<int>(negative ? -value : value);
  }

  /// What begins here: letters and digits together, or one character; empty at the end.
  [[nodiscard]] std::string_view token() const {
    std::size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || is_letter(text_[end]))) ++end;
    if (end == at_ && end < text_.size()) {
      do ++end;
      while (end < text_.size() && continues_character(text_[end]));
    }
    return text_.substr(at_, end - at_);
  }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  bool accept(char c) {
    if (at_end() || text_[at_] != c) return false;
    advance(1);
    return true;
  }

  void advance(std::size_t count) {
    at_ += count;
    skip_space();
  }

  void skip_space() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  /// Of the next token, in characters from 1.
  [[nodiscard]] std::size_t column() const {
    const auto before = text_.substr(0, at_);
    return before.size() + 1 -
           static_cast<std::size_t>(std::count_if(before.begin(), before.end(), continues_character));
  }

  [[noreturn]] void fail(std::string_view wanted) const {
    const std::string found = at_end() ? "the end" : fmt::format("`{}`", token());
    throw input_error("{} `{}`: expected {} at column {}, found {}", kind_, text_, wanted, column(), found);
  }

  void expect_end(std::string_view wanted) const {
    if (!at_end()) fail(wanted);
  }

  /// Says in which text the arithmetic failed.
  template <typename Step>
  void guarded(Step step) const {
    try {
      step();
    } catch (Error& error) {
      error.note(fmt::format("in {} `{}`, before column {}", kind_, text_, column()));
      throw;
    }
  }

  std::string_view kind_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Size Size::parse(std::string_view text) { return Parser("size", text).whole_size(); }

SizeSum SizeSum::parse(std::string_view text) { return Parser("sum", text).whole_sum(); }

}  // namespace kasimir
