// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/array_builder.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

std::size_t place(std::int64_t dim) { return static_cast<std::size_t>(dim); }

std::int64_t product(const ArrayShape& extents) {
  std::int64_t all = 1;
  for (std::int64_t extent : extents) all *= extent;
  return all;
}

/// Extents of two arrays that meet element by element, aligned at the last dimension.
ArrayShape broadcast(const ArrayShape& a, const ArrayShape& b) {
  const ArrayShape& more = a.size() >= b.size() ? a : b;
  const ArrayShape& less = a.size() >= b.size() ? b : a;
  ArrayShape shape = more;
  for (std::size_t i = 0; i < less.size(); ++i) {
    std::int64_t& extent = shape[more.size() - less.size() + i];
    KASIMIR_CHECK(extent == less[i] || extent == 1 || less[i] == 1, "extents {} and {} meet", extent, less[i]);
    if (extent == 1) extent = less[i];
  }
  return shape;
}

double apply_numbers(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return a + b;
    case Fn::sub:
      return a - b;
    case Fn::mul:
      return a * b;
    case Fn::div:
      return a / b;
    case Fn::max:
      return std::max(a, b);
    case Fn::min:
      return std::min(a, b);
    default:
      KASIMIR_CHECK(false, "{} of two numbers", fn_info(fn).name);
  }
}

}  // namespace

int ArrayBuilder::add(ArrayOp op, std::vector<int> operands, ArrayShape shape) {
  values_.push_back({std::move(op), std::move(operands), std::move(shape)});
  return static_cast<int>(values_.size()) - 1;
}

const ArrayValue& ArrayBuilder::undoable(int x) const { return sealed_.contains(x) ? opaque_ : at(x); }

int ArrayBuilder::given(int tensor, ArrayShape shape) { return add(array::Given{tensor}, {}, std::move(shape)); }
int ArrayBuilder::number(double value) { return add(array::Number{value}, {}, {}); }

int ArrayBuilder::roll(int x, std::int64_t dim, std::int64_t by) {
  const std::int64_t n = extent(x, dim);
  const std::int64_t least = ((by % n) + n) % n;
  return least == 0 ? x : add(array::Roll{dim, least}, {x}, shape(x));
}

int ArrayBuilder::flip(int x, std::int64_t dim) {
  return extent(x, dim) == 1 ? x : add(array::Flip{dim}, {x}, shape(x));
}

int ArrayBuilder::slice(int x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  ArrayShape shape = this->shape(x);
  std::int64_t& extent = shape[place(dim)];
  const std::int64_t count = (stop - start + step - 1) / step;
  if (count == (extent - start + step - 1) / step) stop = extent;  // the shorter text
  if (start == 0 && stop == extent && step == 1) return x;
  extent = count;
  const ArrayValue& before = undoable(x);
  if (const auto* first = std::get_if<array::Slice>(&before.op); first != nullptr && first->dim == dim) {
    const std::int64_t begin = first->start + start * first->step;
    return add(array::Slice{dim, begin, begin + (stop - 1 - start) * first->step + 1, first->step * step},
               before.operands, std::move(shape));
  }
  return add(array::Slice{dim, start, stop, step}, {x}, std::move(shape));
}

int ArrayBuilder::pad(int x, ArrayShape before, ArrayShape after) {
  ArrayShape shape = this->shape(x);
  bool any = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (before[i] == 0 && after[i] == 0) continue;
    KASIMIR_CHECK(shape[i] != any_batch && before[i] >= 0 && after[i] >= 0, "dimension {} of extent {} is padded", i,
                  shape[i]);
    shape[i] += before[i] + after[i];
    any = true;
  }
  return any ? add(array::Pad{std::move(before), std::move(after)}, {x}, std::move(shape)) : x;
}

int ArrayBuilder::windows(int x, std::int64_t dim, std::int64_t size, std::int64_t step) {
  ArrayShape shape = this->shape(x);
  shape[place(dim)] = (shape[place(dim)] - size) / step + 1;
  shape.insert(shape.begin() + dim + 1, size);
  return add(array::Windows{dim, size, step}, {x}, std::move(shape));
}

int ArrayBuilder::unflatten(int x, std::int64_t dim, ArrayShape extents) {
  if (extents.empty()) return squeeze(x, dim);
  if (extents.size() == 1) return x;
  KASIMIR_CHECK(product(extents) == extent(x, dim), "an extent of {} is cut into {}", extent(x, dim), product(extents));
  const ArrayValue& before = undoable(x);
  const auto last = dim + static_cast<std::int64_t>(extents.size()) - 1;
  if (before.op == ArrayOp(array::Flatten{dim, last})) {
    const ArrayShape& inner = shape(before.operands[0]);
    if (std::equal(extents.begin(), extents.end(), inner.begin() + dim)) return before.operands[0];
  }
  ArrayShape shape = this->shape(x);
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, extents.begin(), extents.end());
  return add(array::Unflatten{dim, std::move(extents)}, {x}, std::move(shape));
}

int ArrayBuilder::flatten(int x, std::int64_t first, std::int64_t last) {
  if (last < first) return unsqueeze(x, first);
  if (last == first) return x;
  const ArrayValue& before = undoable(x);
  if (const auto* cut = std::get_if<array::Unflatten>(&before.op);
      cut != nullptr && cut->dim == first && static_cast<std::int64_t>(cut->extents.size()) == last - first + 1)
    return before.operands[0];
  if (const auto* one = std::get_if<array::Unsqueeze>(&before.op);
      one != nullptr && one->dim >= first && one->dim <= last)
    return flatten(before.operands[0], first, last - 1);
  ArrayShape shape = this->shape(x);
  const ArrayShape joined(shape.begin() + first, shape.begin() + last + 1);
  KASIMIR_CHECK(std::ranges::count(joined, any_batch) == 0, "dimensions {} to {} are joined", first, last);
  shape.erase(shape.begin() + first, shape.begin() + last + 1);
  shape.insert(shape.begin() + first, product(joined));
  return add(array::Flatten{first, last}, {x}, std::move(shape));
}

int ArrayBuilder::reshape(int x, ArrayShape shape) {
  KASIMIR_CHECK(product(shape) == product(this->shape(x)), "{} elements become {}", product(this->shape(x)),
                product(shape));
  return shape == this->shape(x) ? x : add(array::Reshape{shape}, {x}, shape);
}

int ArrayBuilder::squeeze(int x, std::int64_t dim) {
  KASIMIR_CHECK(extent(x, dim) == 1, "dimension {} of extent {} goes", dim, extent(x, dim));
  if (undoable(x).op == ArrayOp(array::Unsqueeze{dim})) return at(x).operands[0];
  ArrayShape shape = this->shape(x);
  shape.erase(shape.begin() + dim);
  return add(array::Squeeze{dim}, {x}, std::move(shape));
}

int ArrayBuilder::unsqueeze(int x, std::int64_t dim) {
  if (undoable(x).op == ArrayOp(array::Squeeze{dim})) return at(x).operands[0];
  ArrayShape shape = this->shape(x);
  shape.insert(shape.begin() + dim, 1);
  return add(array::Unsqueeze{dim}, {x}, std::move(shape));
}

int ArrayBuilder::permute(int x, ArrayShape order) {
  KASIMIR_CHECK(static_cast<std::int64_t>(order.size()) == dims(x), "{} of {} dimensions", order.size(), dims(x));
  if (std::ranges::is_sorted(order)) return x;
  ArrayShape shape;
  for (std::int64_t dim : order) shape.push_back(extent(x, dim));
  const ArrayValue& before = undoable(x);
  if (const auto* first = std::get_if<array::Permute>(&before.op)) {
    for (std::int64_t& dim : order) dim = first->order[place(dim)];
    return permute(before.operands[0], std::move(order));
  }
  return add(array::Permute{std::move(order)}, {x}, std::move(shape));
}

int ArrayBuilder::expand(int x, ArrayShape shape) {
  if (shape == this->shape(x)) return x;
  for (std::size_t i = 0; i < shape.size(); ++i)
    KASIMIR_CHECK(shape[i] != any_batch || this->shape(x)[i] == any_batch, "dimension {} becomes the batch", i);
  return add(array::Expand{shape}, {x}, shape);
}

int ArrayBuilder::concat(std::vector<int> parts, std::int64_t dim) {
  ArrayShape shape = this->shape(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) shape[place(dim)] += extent(parts[i], dim);
  return add(array::Concat{dim}, std::move(parts), std::move(shape));
}

int ArrayBuilder::apply(Fn fn, int a) { return add(array::Function{fn}, {a}, shape(a)); }

int ArrayBuilder::apply(Fn fn, int a, int b) {
  const auto* left = std::get_if<array::Number>(&at(a).op);
  const auto* right = std::get_if<array::Number>(&at(b).op);
  if (left != nullptr && right != nullptr) return number(apply_numbers(fn, left->value, right->value));
  return add(array::Function{fn}, {a, b}, broadcast(shape(a), shape(b)));
}

int ArrayBuilder::scale(int x, double factor) { return factor == 1.0 ? x : apply(Fn::mul, x, number(factor)); }

int ArrayBuilder::reduce(int x, array::Fold fold, ArrayShape dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (extent(x, dims[i]) != 1) continue;
    x = squeeze(x, dims[i]);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t later = i; later < dims.size(); ++later) --dims[later];
  }
  if (dims.empty()) return x;
  ArrayShape shape = this->shape(x);
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) shape.erase(shape.begin() + *dim);
  return add(array::Reduction{fold, std::move(dims)}, {x}, std::move(shape));
}

int ArrayBuilder::softmax(int x, std::int64_t dim) { return add(array::Softmax{dim}, {x}, shape(x)); }

int ArrayBuilder::einsum(std::string equation, std::vector<int> operands, ArrayShape shape) {
  return add(array::Einsum{std::move(equation)}, std::move(operands), std::move(shape));
}

int ArrayBuilder::convolution(int x, int weight, const array::Convolution& op) {
  ArrayShape shape{extent(x, 0), extent(weight, 0)};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t room = this->shape(x)[2 + i] + op.before[i] + op.after[i];
    const std::int64_t span = op.dilation[i] * (this->shape(weight)[2 + i] - 1) + 1;
    KASIMIR_CHECK(room >= span, "a window of {} over {}", span, room);
    shape.push_back((room - span) / op.stride[i] + 1);
  }
  return add(op, {x, weight}, std::move(shape));
}

int ArrayBuilder::batch_norm(const std::array<int, 5>& operands, double epsilon) {
  return add(array::BatchNorm{epsilon}, {operands.begin(), operands.end()}, shape(operands[0]));
}

std::int64_t ArrayBuilder::volume(int x) const {
  std::int64_t all = 1;
  for (std::int64_t extent : shape(x)) all *= extent == any_batch ? 1 : extent;
  return all;
}

}  // namespace kasimir
