// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/fold.h"

#include "kasimir/onnx/fold_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

using Shape = std::vector<std::int64_t>;
__extension__ using Wide = __int128;  ///< holds every sum and difference

/// One operator on known values.
class Folder {
 public:
  Folder(const OnnxNode& node, const std::vector<const OnnxConstant*>& inputs, const OnnxTensorReader& reader)
      : node_(node), inputs_(inputs), reader_(reader) {}

  OnnxConstant constant() {
    if (const auto* value = node_.find("value"))
      return reader_.read(value->t(), fmt::format("the value of node `{}`", shown(node_.name())));
    if (node_.has("value_int")) return {{}, Integers{node_.integer("value_int", 0)}};
    if (node_.has("value_float")) return {{}, Floats{static_cast<float>(node_.real("value_float", 0))}};
    if (node_.has("value_ints")) return list(node_.integers("value_ints", {}));
    if (const auto* floats = node_.find("value_floats"))
      return list(Floats(floats->floats().begin(), floats->floats().end()));
    node_.fail("it has no numbers");
  }
  OnnxConstant identity() { return in(0); }

  OnnxConstant cast() {
    const std::int64_t to = node_.integer("to", 0);
    const bool real = to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE ||
                      to == onnx::TensorProto::FLOAT16 || to == onnx::TensorProto::BFLOAT16;
    OnnxConstant made{in(0).shape, {}};
    if (in(0).whole() && real) {
      made.values = Floats(in(0).integers().begin(), in(0).integers().end());
    } else if (!in(0).whole() && !real) {
      Integers whole;
      for (const float value : in(0).floats()) {
        if (!(std::abs(value) < 9e18F)) node_.fail("{} is no whole number", value);
        whole.push_back(to == onnx::TensorProto::BOOL ? static_cast<std::int64_t>(value != 0)
                                                      : static_cast<std::int64_t>(value));
      }
      made.values = std::move(whole);
    } else {
      made.values = in(0).values;
    }
    return made;
  }

  OnnxConstant reshape() { return {reshape_target(node_, in(0).shape, whole(1)), in(0).values}; }
  OnnxConstant squeeze() {
    const auto axes = numbers_of(node_, "axes", 1, inputs_);
    return {squeezed(node_, in(0).shape, axes.value_or(Shape{}), axes.has_value()), in(0).values};
  }
  OnnxConstant unsqueeze() {
    return {unsqueezed(node_, in(0).shape, numbers_of(node_, "axes", 1, inputs_).value_or(Shape{})), in(0).values};
  }
  OnnxConstant flatten() {
    const Shape& shape = in(0).shape;
    const std::int64_t axis = node_.integer("axis", 1);
    const std::size_t at = axis == std::ssize(shape) ? shape.size() : axis_of(node_, axis, shape.size());
    const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(at);
    return {{product_of({shape.begin(), middle}), product_of({middle, shape.end()})}, in(0).values};
  }

  OnnxConstant transpose() {
    const Shape& shape = in(0).shape;
    Shape back;
    for (std::size_t i = shape.size(); i > 0; --i) back.push_back(static_cast<std::int64_t>(i) - 1);
    const Shape order = node_.integers("perm", back);
    Shape sorted = order;
    std::ranges::sort(sorted);
    std::ranges::reverse(back);
    if (sorted != back) node_.fail("{} is no order of {} axes", fmt::join(order, ","), shape.size());
    Shape steps(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
    Shape places{0};
    Shape made;
    for (const std::int64_t axis : order) {
      const auto from = static_cast<std::size_t>(axis);
      made.push_back(shape[from]);
      Shape next;
      for (const std::int64_t place : places)
        for (std::int64_t k = 0; k < shape[from]; ++k) next.push_back(place + k * steps[from]);
      places = std::move(next);
    }
    return taken(made, places);
  }

  OnnxConstant gather() {
    const Shape& shape = in(0).shape;
    const std::size_t axis = axis_of(node_, node_.integer("axis", 0), shape.size());
    const auto [outer, inner] = around(shape, axis);
    Shape made(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
    made.insert(made.end(), in(1).shape.begin(), in(1).shape.end());
    made.insert(made.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
    limit(made);
    Shape places;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t index : whole(1)) {
        if (index < -shape[axis] || index >= shape[axis]) node_.fail("index {} of {}", index, shape[axis]);
        if (index < 0) index += shape[axis];
        for (std::int64_t i = 0; i < inner; ++i) places.push_back((o * shape[axis] + index) * inner + i);
      }
    return taken(made, places);
  }

  OnnxConstant slice() {
    const Shape starts = whole(1);
    const Shape ends = whole(2);
    OnnxConstant made = in(0);
    Shape axes;
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (given(3)) axes = whole(3);
    const Shape steps = given(4) ? whole(4) : Shape(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
      node_.fail("{} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(), axes.size(), steps.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t axis = axis_of(node_, axes[i], made.shape.size());
      const SliceRange range = slice_range(node_, made.shape[axis], starts[i], ends[i], steps[i]);
      const auto [outer, inner] = around(made.shape, axis);
      Shape places;
      for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t k = 0; k < range.count; ++k)
          for (std::int64_t n = 0; n < inner; ++n)
            places.push_back((o * made.shape[axis] + range.first + k * range.step) * inner + n);
      Shape shape = made.shape;
      shape[axis] = range.count;
      made = taken_from(made, shape, places);
    }
    return made;
  }

  OnnxConstant concat() {
    const std::size_t axis = axis_of(node_, node_.integer("axis", 0), in(0).shape.size());
    Shape made = in(0).shape;
    made[axis] = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Shape rest = in(i).shape;
      if (rest.size() != made.size()) node_.fail("arrays of {} and {} axes", made.size(), rest.size());
      made[axis] += rest[axis];
      rest[axis] = made[axis];
      if (rest != made) node_.fail("{} does not fit the arrays before it", fmt::join(in(i).shape, "x"));
      if (in(i).whole() != in(0).whole()) node_.fail("whole numbers and others together");
    }
    limit(made);
    OnnxConstant result{made, in(0).whole() ? decltype(in(0).values)(Integers{}) : decltype(in(0).values)(Floats{})};
    const auto [outer, inner] = around(made, axis);
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < inputs_.size(); ++i) append(result, in(i), o, in(i).shape[axis] * inner);
    return result;
  }

  OnnxConstant filled() {
    const Shape shape = whole(0);
    limit(shape);
    const auto count = static_cast<std::size_t>(product_of(shape));
    const auto* value = node_.find("value");
    if (value == nullptr) return {shape, Floats(count, 0.0F)};
    const OnnxConstant one = reader_.read(value->t(), fmt::format("the value of node `{}`", shown(node_.name())));
    if (one.elements() != 1) node_.fail("{} values to fill with, needed 1", one.elements());
    if (one.whole()) return {shape, Integers(count, one.integers()[0])};
    return {shape, Floats(count, one.floats()[0])};
  }
  OnnxConstant expand() {
    const Shape shape = broadcast(node_, in(0).shape, whole(1));
    limit(shape);
    return taken(shape, stretched(in(0).shape, shape));
  }
  OnnxConstant range() {
    for (std::size_t i = 0; i < 3; ++i)
      if (in(i).elements() != 1) node_.fail("input {} is not one number", i + 1);
    const std::int64_t start = whole(0)[0];
    const std::int64_t step = whole(2)[0];
    if (step == 0) node_.fail("a step of 0");
    const Wide way = static_cast<Wide>(whole(1)[0]) - start;
    const Wide count = (way + step + (step > 0 ? -1 : 1)) / step;
    if (count >= 1'000'000) node_.fail("{} numbers in a row", static_cast<double>(count));
    Integers values;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) values.push_back(start + i * step);
    return list(std::move(values));
  }

  OnnxConstant add() {
    return both([](auto a, auto b) { return wrapped<std::plus<>>(a, b); });
  }
  OnnxConstant sub() {
    return both([](auto a, auto b) { return wrapped<std::minus<>>(a, b); });
  }
  OnnxConstant mul() {
    return both([](auto a, auto b) { return wrapped<std::multiplies<>>(a, b); });
  }
  OnnxConstant div() {
    return both([this](auto a, auto b) {
      if constexpr (std::is_integral_v<decltype(a)>) {
        if (b == 0 || (b == -1 && a == std::numeric_limits<decltype(a)>::min())) node_.fail("{} divided by {}", a, b);
      }
      return a / b;
    });
  }
  OnnxConstant mod() {
    if (node_.integer("fmod", 0) != 0) node_.fail("the remainder of C, needed that of Python");
    return both([this](auto a, auto b) -> decltype(a) {
      if constexpr (std::is_integral_v<decltype(a)>) {
        if (b == 0) node_.fail("{} modulo {}", a, b);
        if (b == -1) return 0;
        const auto rest = a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      } else {
        node_.fail("the remainder of numbers that are not whole");
      }
    });
  }
  OnnxConstant max() {
    return both([](auto a, auto b) { return std::max(a, b); });
  }
  OnnxConstant min() {
    return both([](auto a, auto b) { return std::min(a, b); });
  }
  OnnxConstant equal() {
    OnnxConstant same = both([](auto a, auto b) { return static_cast<decltype(a)>(a == b); });
    if (!same.whole()) same.values = Integers(same.floats().begin(), same.floats().end());
    return same;
  }
  OnnxConstant where() {
    const Shape shape = broadcast(node_, broadcast(node_, in(0).shape, in(1).shape), in(2).shape);
    limit(shape);
    const Shape asked = whole(0);
    const Shape from = stretched(in(0).shape, shape);
    OnnxConstant yes = taken_from(in(1), shape, stretched(in(1).shape, shape));
    const OnnxConstant no = taken_from(in(2), shape, stretched(in(2).shape, shape));
    if (yes.whole() != no.whole()) node_.fail("whole numbers and others together");
    std::visit(
        [&](auto& values) {
          const auto& others = std::get<std::decay_t<decltype(values)>>(no.values);
          for (std::size_t i = 0; i < values.size(); ++i)
            if (asked[static_cast<std::size_t>(from[i])] == 0) values[i] = others[i];
        },
        yes.values);
    return yes;
  }
  OnnxConstant neg() {
    return each([](auto value) { return wrapped<std::minus<>>(decltype(value){0}, value); });
  }
  OnnxConstant sqrt() {
    if (in(0).whole()) node_.fail("the root of whole numbers");
    return each([](auto value) { return static_cast<decltype(value)>(std::sqrt(static_cast<double>(value))); });
  }

 private:
  using Integers = std::vector<std::int64_t>;
  using Floats = std::vector<float>;

  /// Whole numbers of a file wrap around rather than being undefined.
  template <typename Function, typename Number>
  static Number wrapped(Number a, Number b) {
    if constexpr (std::is_integral_v<Number>)
      return static_cast<Number>(Function{}(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
    else
      return Function{}(a, b);
  }

  [[nodiscard]] bool given(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  [[nodiscard]] const OnnxConstant& in(std::size_t i) const {
    if (!given(i)) node_.fail("input {} is missing", i + 1);
    return *inputs_[i];
  }
  [[nodiscard]] const Integers& whole(std::size_t i) const {
    if (!in(i).whole()) node_.fail("input {} holds no whole numbers", i + 1);
    return in(i).integers();
  }
  static OnnxConstant list(Integers values) { return {{std::ssize(values)}, std::move(values)}; }
  static OnnxConstant list(Floats values) { return {{std::ssize(values)}, std::move(values)}; }
  void limit(const Shape& shape) const {
    const std::int64_t count = product_of(shape);
    if (count < 0 || count > most_folded) node_.fail("a constant of shape {} is too large", fmt::join(shape, "x"));
  }
  /// How many runs and how many values in each step there are before and behind an axis.
  static std::pair<std::int64_t, std::int64_t> around(const Shape& shape, std::size_t axis) {
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return {product_of({shape.begin(), at}), product_of({at + 1, shape.end()})};
  }
  static OnnxConstant taken_from(const OnnxConstant& from, const Shape& shape, const Shape& places) {
    return std::visit(
        [&](const auto& values) {
          std::decay_t<decltype(values)> made;
          made.reserve(places.size());
          for (const std::int64_t place : places) made.push_back(values[static_cast<std::size_t>(place)]);
          return OnnxConstant{shape, std::move(made)};
        },
        from.values);
  }
  [[nodiscard]] OnnxConstant taken(const Shape& shape, const Shape& places) const {
    return taken_from(in(0), shape, places);
  }
  static void append(OnnxConstant& to, const OnnxConstant& from, std::int64_t run, std::int64_t count) {
    std::visit(
        [&](auto& values) {
          const auto& source = std::get<std::decay_t<decltype(values)>>(from.values);
          const auto begin = source.begin() + static_cast<std::ptrdiff_t>(run * count);
          values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
        },
        to.values);
  }
  template <typename Function>
  OnnxConstant each(const Function& function) {
    OnnxConstant made = in(0);
    std::visit([&](auto& values) { std::ranges::transform(values, values.begin(), function); }, made.values);
    return made;
  }
  template <typename Function>
  OnnxConstant both(const Function& function) {
    if (inputs_.size() != 2) node_.fail("{} inputs, needed 2", inputs_.size());
    const Shape shape = broadcast(node_, in(0).shape, in(1).shape);
    limit(shape);
    OnnxConstant a = taken_from(in(0), shape, stretched(in(0).shape, shape));
    const OnnxConstant b = taken_from(in(1), shape, stretched(in(1).shape, shape));
    if (a.whole() != b.whole()) node_.fail("whole numbers and others together");
    std::visit(
        [&](auto& values) {
          const auto& others = std::get<std::decay_t<decltype(values)>>(b.values);
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = function(values[i], others[i]);
        },
        a.values);
    return a;
  }

  const OnnxNode& node_;
  const std::vector<const OnnxConstant*>& inputs_;
  const OnnxTensorReader& reader_;
};

struct Rule {
  std::string_view op;
  OnnxConstant (Folder::*compute)();
};

constexpr std::array rules{
    Rule{"Add", &Folder::add},
    Rule{"Cast", &Folder::cast},
    Rule{"Concat", &Folder::concat},
    Rule{"Constant", &Folder::constant},
    Rule{"ConstantOfShape", &Folder::filled},
    Rule{"Div", &Folder::div},
    Rule{"Equal", &Folder::equal},
    Rule{"Expand", &Folder::expand},
    Rule{"Flatten", &Folder::flatten},
    Rule{"Gather", &Folder::gather},
    Rule{"Identity", &Folder::identity},
    Rule{"Max", &Folder::max},
    Rule{"Min", &Folder::min},
    Rule{"Mod", &Folder::mod},
    Rule{"Mul", &Folder::mul},
    Rule{"Neg", &Folder::neg},
    Rule{"Range", &Folder::range},
    Rule{"Reshape", &Folder::reshape},
    Rule{"Slice", &Folder::slice},
    Rule{"Sqrt", &Folder::sqrt},
    Rule{"Squeeze", &Folder::squeeze},
    Rule{"Sub", &Folder::sub},
    Rule{"Transpose", &Folder::transpose},
    Rule{"Unsqueeze", &Folder::unsqueeze},
    Rule{"Where", &Folder::where},
};

const Rule* rule_of(std::string_view op) {
  const auto found = std::ranges::find(rules, op, &Rule::op);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace

std::optional<OnnxConstant> fold(const OnnxNode& node, const std::vector<const OnnxConstant*>& inputs,
                                 const OnnxTensorReader& reader) {
  const Rule* rule = rule_of(node.op());
  if (rule == nullptr) return std::nullopt;
  return (Folder(node, inputs, reader).*rule->compute)();
}

bool folds(std::string_view op) { return rule_of(op) != nullptr; }

std::vector<std::string> folded_operators() {
  std::vector<std::string> all;
  for (const Rule& rule : rules) all.emplace_back(rule.op);
  return all;
}

}  // namespace kasimir
