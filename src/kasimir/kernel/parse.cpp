// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/kernel/kernel.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

/// One line of a kernel text, read from left to right; knows where it is for messages.
class Line {
 public:
  Line(std::string_view text, int number, std::string_view where) : text_(text), number_(number), where_(where) {}

  [[nodiscard]] Error error(std::string message) const { return error_at(position_, std::move(message)); }
  [[nodiscard]] Error error_at(std::size_t position, std::string message) const {
    Error error(Fault::input, std::move(message));
    error.note(fmt::format("at {}:{}:{}: {}", where_, number_, position + 1, trim(text_)));
    return error;
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  [[nodiscard]] bool done() {
    skip_space();
    return position_ >= text_.size();
  }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) throw error(fmt::format("expected `{}`, found {}", wanted, found()));
  }
  std::string word(std::string_view what) {
    skip_space();
    const std::size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 || text_[position_] == '_'))
      ++position_;
    if (begin == position_) throw error(fmt::format("expected {}, found {}", what, found()));
    return std::string(text_.substr(begin, position_ - begin));
  }
  /// Everything up to a `,` or `)` outside parentheses.
  std::string_view value() {
    skip_space();
    const std::size_t begin = position_;
    int depth = 0;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (c == '(') ++depth;
      if (c == ')' && depth-- == 0) break;
      if (c == ',' && depth == 0) break;
    }
    return trim(text_.substr(begin, position_ - begin));
  }
  std::string_view rest() {
    skip_space();
    return trim(text_.substr(position_));
  }
  [[nodiscard]] std::string found() {
    return done() ? "the end of the line" : fmt::format("`{}`", text_.substr(position_, 1));
  }

 private:
  std::string_view text_;
  int number_;
  std::string_view where_;
  std::size_t position_ = 0;
};

/// The parts between top-level commas of `(a,b)`, or the one part of `a`.
std::vector<std::string> parts_of(std::string_view value) {
  if (value.size() >= 2 && value.front() == '(' && value.back() == ')')
    return split(value.substr(1, value.size() - 2), ',');
  return {std::string(value)};
}

AxisKind axis_of(std::string_view text, const Line& line, std::size_t at) {
  const auto kind = text.size() == 1 ? axis_from_letter(text[0]) : std::nullopt;
  if (!kind || *kind == AxisKind::batch)
    throw line.error_at(
        at,
        fmt::format("`{}` is no axis; axes are g (group), c (channel), u v (window), h w (height, width), t (token)",
                    text));
  return *kind;
}

Size parsed_size(std::string_view text, const Line& line, std::size_t at) {
  try {
    return Size::parse(text);
  } catch (const Error& cause) {
    throw line.error_at(at, cause.message());
  }
}

Size size_of(std::string_view text, const Line& line, std::size_t at) {
  Size size = parsed_size(text, line, at);
  if (size.coefficient().num() < 1) throw line.error_at(at, fmt::format("a size is above 0, found `{}`", text));
  if (size.has(Symbol::N))
    throw line.error_at(at, fmt::format("a size cannot depend on the batch `N`, found `{}`", text));
  return size;
}

Argument argument_of(const Param& param, std::string_view value, const Line& line, std::size_t at) {
  switch (param.kind) {
    case ParamKind::size:
      return size_of(value, line, at);
    case ParamKind::numbers: {
      Numbers numbers;
      const auto parts = parts_of(value);
      if (parts.size() > 2)
        throw line.error_at(at, fmt::format("`{}` takes one or two whole numbers, found `{}`", param.name, value));
      numbers.count = static_cast<std::uint8_t>(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto number = parse_integer(trim(parts[i]));
        if (!number || *number < -1000 || *number > 1000)
          throw line.error_at(
              at, fmt::format("`{}` takes whole numbers of at most 1000, found `{}`", param.name, parts[i]));
        numbers.value[i] = static_cast<std::int16_t>(*number);
      }
      return numbers;
    }
    case ParamKind::axes: {
      AxisSet axes;
      for (const std::string& part : parts_of(value)) axes.add(axis_of(trim(part), line, at));
      return axes;
    }
    case ParamKind::shape: {
      Shape shape;
      for (const std::string& part : parts_of(value)) {
        const auto sides = split(part, '=');
        if (sides.size() != 2)
          throw line.error_at(
              at, fmt::format("`{}` takes axes with sizes such as (c=Co,u=3), found `{}`", param.name, value));
        shape.push_back({axis_of(trim(sides[0]), line, at), size_of(trim(sides[1]), line, at)});
      }
      return shape;
    }
    case ParamKind::word: {
      const auto found = std::ranges::find(param.words, value);
      if (found == param.words.end()) {
        const std::vector<std::string> words(param.words.begin(), param.words.end());
        throw line.error_at(at, fmt::format("`{}` cannot be `{}`, {}", param.name, value, suggestion(value, words)));
      }
      return Word{static_cast<std::uint8_t>(found - param.words.begin())};
    }
  }
  throw line.error_at(at, "unknown kind of parameter");
}

class Parser {
 public:
  Parser(Catalog catalog, std::string_view where) : catalog_(catalog), where_(where) {}

  void line(std::string_view text, int number) {
    if (const auto comment = text.find('#'); comment != std::string_view::npos) text = text.substr(0, comment);
    if (text.ends_with('\r')) text.remove_suffix(1);
    Line line(text, number, where_);
    if (line.done()) return;
    if (kernel_.name.empty()) {
      if (line.word("`kernel NAME`") != "kernel") throw line.error_at(0, "a kernel text begins with `kernel NAME`");
      kernel_.name = line.word("the kernel's name");
      finish(line);
      return;
    }
    const std::string first = line.word("a step, `return` or `at`");
    if (first == "given" && !returned_) return given(line);
    if (first == "return" && !returned_) return returns(line);
    if (first == "at" && returned_) return fit(line);
    if (returned_) throw line.error_at(0, "after `return` only lines `at SITE: x0=24` may follow");
    step(line, first);
  }

  Kernel finish_text(int lines) {
    if (kernel_.name.empty())
      throw input_error("a kernel text begins with `kernel NAME`, found an empty text")
          .note(fmt::format("at {}:1:1", where_));
    if (!returned_)
      throw input_error("the kernel `{}` has no `return`", kernel_.name).note(fmt::format("at {}:{}:1", where_, lines));
    return std::move(kernel_);
  }

 private:
  void finish(Line& line) {
    if (!line.done()) throw line.error(fmt::format("expected the end of the line, found {}", line.found()));
  }

  void given(Line& line) {
    while (!line.done()) {
      const std::size_t at = line.position();
      const std::string name = line.word("a choice symbol");
      const auto symbol = symbol_from_name(name);
      if (!symbol || !is_choice(*symbol))
        throw line.error_at(at, fmt::format("`{}` is no choice symbol; choice symbols are g, r and k", name));
      if (kernel_.choices.has(*symbol)) throw line.error_at(at, fmt::format("`{}` is given twice", name));
      line.expect('=');
      kernel_.choices.set(*symbol, whole_number(line));
    }
  }

  static std::int64_t whole_number(Line& line) {
    line.skip_space();
    const std::size_t at = line.position();
    const std::string word = line.word("a whole number");
    const auto number = parse_integer(word);
    if (!number || *number < 1)
      throw line.error_at(at, fmt::format("expected a whole number of at least 1, found `{}`", word));
    return *number;
  }

  int tensor(const std::string& name, const Line& line, std::size_t at) const {
    if (name == "x") return 0;
    const auto found = tensors_.find(name);
    if (found != tensors_.end()) return found->second;
    std::vector<std::string> known{"x"};
    for (const auto& entry : tensors_) known.push_back(entry.first);
    throw line.error_at(at, fmt::format("no step above is named `{}`, {}", name, suggestion(name, known)));
  }

  void returns(Line& line) {
    line.skip_space();
    const std::size_t at = line.position();
    kernel_.output = tensor(line.word("the result's name"), line, at);
    returned_ = true;
    finish(line);
  }

  void fit(Line& line) {
    const auto sides = split(line.rest(), ':');
    if (sides.size() != 2) throw line.error("expected `at SITE: x0=24`");
    Binding fit;
    Site site;
    try {
      site = Site::parse(trim(sides[0]));
    } catch (const Error& cause) {
      throw line.error(cause.message());
    }
    for (const std::string& part : split(trim(sides[1]), ' ')) {
      if (part.empty()) continue;
      const auto pair = split(part, '=');
      const auto symbol = symbol_from_name(pair[0]);
      const std::int64_t value = pair.size() == 2 ? parse_integer(pair[1]).value_or(0) : 0;
      if (!symbol || !is_free(*symbol) || value < 1)
        throw line.error(fmt::format("expected a free symbol with a whole number such as x0=24, found `{}`", part));
      fit.set(*symbol, value);
    }
    kernel_.fits.emplace_back(site, fit);
  }

  void step(Line& line, const std::string& name) {
    if (name == "x" || name == "return" || tensors_.contains(name))
      throw line.error_at(0, fmt::format("the name `{}` is taken already", name));
    line.expect('=');
    line.skip_space();
    const std::size_t at = line.position();
    const std::string primitive_name = line.word("a primitive");
    Step step{find_primitive(catalog_, primitive_name), {}, {}};
    if (step.primitive == nullptr)
      throw line.error_at(at, fmt::format("unknown primitive `{}`, {}", primitive_name,
                                          suggestion(primitive_name, primitive_names(catalog_))));
    line.expect('(');
    std::vector<std::optional<Argument>> given(step.primitive->params.size());
    bool named = false;
    do {
      line.skip_space();
      const std::size_t start = line.position();
      const std::string word = line.word("an operand or a parameter");
      if (!line.take('=')) {
        if (named) throw line.error_at(start, "operands come before parameters");
        step.operands.push_back(tensor(word, line, start));
        continue;
      }
      named = true;
      parameter(line, start, word, *step.primitive, given);
    } while (line.take(','));
    line.expect(')');
    finish(line);
    if (static_cast<int>(step.operands.size()) != step.primitive->operands)
      throw line.error_at(at, fmt::format("`{}` takes {} operand{}, found {}", primitive_name, step.primitive->operands,
                                          step.primitive->operands == 1 ? "" : "s", step.operands.size()));
    fill(line, at, step, given);
    check_choices(line, at, step);
    kernel_.steps.push_back(std::move(step));
    tensors_[name] = static_cast<int>(kernel_.steps.size());
  }

  static void parameter(Line& line, std::size_t start, const std::string& name, const Primitive& primitive,
                        std::vector<std::optional<Argument>>& given) {
    const auto found = std::ranges::find(primitive.params, name, &Param::name);
    if (found == primitive.params.end()) {
      std::vector<std::string> known;
      for (const Param& param : primitive.params) known.emplace_back(param.name);
      throw line.error_at(start, known.empty() ? fmt::format("`{}` has no parameters, found `{}`", primitive.name, name)
                                               : fmt::format("`{}` has no parameter `{}`, {}", primitive.name, name,
                                                             suggestion(name, known)));
    }
    auto& slot = given[static_cast<std::size_t>(found - primitive.params.begin())];
    if (slot) throw line.error_at(start, fmt::format("the parameter `{}` is given twice", name));
    line.skip_space();
    const std::size_t at = line.position();
    slot = argument_of(*found, line.value(), line, at);
  }

  /// A choice symbol without a value would leave the sizes of every site open.
  void check_choices(const Line& line, std::size_t at, const Step& step) const {
    const auto check = [&](const Size& size) {
      for (Symbol symbol : choice_symbols)
        if (size.has(symbol) && !kernel_.choices.has(symbol))
          throw line.error_at(
              at, fmt::format("the choice symbol `{}` has no value, write a line such as `given {}=4` above",
                              symbol_name(symbol), symbol_name(symbol)));
    };
    for (const Argument& argument : step.arguments) for_each_size(argument, check);
  }

  static void fill(Line& line, std::size_t at, Step& step, const std::vector<std::optional<Argument>>& given) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Param& param = step.primitive->params[i];
      if (!given[i] && param.fallback.empty())
        throw line.error_at(
            at, fmt::format("`{}` needs the parameter `{}`: {}", step.primitive->name, param.name, param.brief));
      step.arguments.push_back(given[i] ? *given[i] : argument_of(param, param.fallback, line, at));
    }
  }

  Catalog catalog_;
  std::string_view where_;
  Kernel kernel_;
  std::map<std::string, int> tensors_;
  bool returned_ = false;
};

}  // namespace

Kernel parse_kernel(std::string_view text, Catalog catalog, std::string_view where) {
  Parser parser(catalog, where);
  int number = 0;
  for (const std::string& line : split(text, '\n')) parser.line(line, ++number);
  return parser.finish_text(number);
}

Kernel parse_and_check(std::string_view text, Catalog catalog, const SiteSet& sites, std::string_view where) {
  Kernel kernel = parse_kernel(text, catalog, where);
  const SiteSet with_choices(sites.sites(), kernel.choices);
  const auto graph = lower(kernel, with_choices);
  if (!graph.ok()) {
    throw input_error("the kernel `{}` in {} is not legal: {}", kernel.name, where, graph.rejection().rule)
        .note(graph.rejection().with);
  }
  return kernel;
}

}  // namespace kasimir
