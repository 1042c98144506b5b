// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace kasimir {

/// Kernels of one to six steps that together use every primitive and every parameter of it at least once.
inline constexpr std::array kernel_texts{
    std::string_view{"kernel conv_plain\n  a = conv(x, to=Co, stride=yes)\nreturn a\n"},
    std::string_view{
        "kernel conv_grouped\ngiven g=2\n  a = conv(x, to=Co, groups=g, dilation=2, stride=yes)\nreturn a\n"},
    std::string_view{"kernel conv_column\n  a = conv(x, to=Co, window=(3,1), stride=yes)\nreturn a\n"},
    std::string_view{"kernel conv_row\n  a = conv(x, to=Co, window=(1,5), dilation=(1,2), stride=yes)\nreturn a\n"},
    std::string_view{
        "kernel depthwise\n  a = conv(x, to=Ci, groups=Ci, stride=yes)\n  b = linear(a, to=Co)\nreturn b\n"},
    std::string_view{
        "kernel conv_in_groups\ngiven g=2\n  a = group(x, by=g)\n  b = conv(a, to=Co, stride=yes)\nreturn b\n"},
    std::string_view{"kernel unfold_linear\n  a = unfold(x)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n"},
    std::string_view{
        "kernel unfold_row\n  a = stride(x)\n  b = unfold(a, axes=w, window=5, dilation=2)\n  c = linear(b, to=Co)\n"
        "return c\n"},
    std::string_view{
        "kernel unfold_relu\n  a = stride(x)\n  b = unfold(a)\n  c = relu(b)\n  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{"kernel unfold_mean\n  a = unfold(x, dilation=2)\n  b = fold(a, axes=(u,v))\n  c = stride(b)\n"
                     "  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{"kernel unfold_max\n  a = stride(x)\n  b = unfold(a)\n  c = fold(b, axes=(u,v), by=max)\n"
                     "  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{
        "kernel box_sum\n  a = unfold(x)\n  b = fold(a, axes=(u,v), by=sum)\n  c = stride(b)\n  d = linear(c, to=Co)\n"
        "return d\n"},
    std::string_view{
        "kernel group_linear\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n"},
    std::string_view{
        "kernel transposed\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = transpose(b)\n  d = merge(c)\n"
        "  e = linear(d, to=Co)\nreturn e\n"},
    std::string_view{"kernel transposed_groups\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = transpose(b)\n"
                     "  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{"kernel shuffled\ngiven g=2\n  a = conv(x, to=Co, groups=g, stride=yes)\n  b = shuffle(a, by=g)\n"
                     "  c = group(b, by=g)\n  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{"kernel shift_zero\n  a = stride(x)\n  b = shift(a, axes=(h,w), by=(1,-2))\n  c = linear(b, "
                     "to=Co)\nreturn c\n"},
    std::string_view{
        "kernel shift_wrap\n  a = stride(x)\n  b = shift(a, axes=(h,w), by=(-1,2), fill=wrap)\n  c = linear(b, to=Co)\n"
        "return c\n"},
    std::string_view{
        "kernel shift_wrap_conv\n  a = stride(x)\n  b = shift(a, axes=h, by=1, fill=wrap)\n  c = conv(b, to=Co)\n"
        "return c\n"},
    std::string_view{
        "kernel shift_channels\n  a = stride(x)\n  b = shift(a, axes=c, by=1)\n  c = linear(b, to=Co)\nreturn c\n"},
    std::string_view{"kernel pool_mean\n  a = pool(x)\n  b = linear(a, to=Co)\nreturn b\n"},
    std::string_view{"kernel pool_max\n  a = pool(x, by=max)\n  b = linear(a, to=Co)\nreturn b\n"},
    std::string_view{
        "kernel mix_window\ngiven g=2\n  a = stride(x)\n  b = mix(a, over=c, to=(g=g,u=3,v=3))\n  c = unfold(a)\n"
        "  d = group(c, by=g)\n  e = broadcast(b, d, op=mul)\n  f = fold(e, axes=(u,v), by=sum)\n  h = merge(f)\n"
        "  i = linear(h, to=Co)\nreturn i\n"},
    std::string_view{"kernel mix_groups\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = mix(b, over=(g,c), "
                     "to=(g=g,c=Co/g))\n"
                     "  d = merge(c)\nreturn d\n"},
    std::string_view{
        "kernel scaled\ngiven g=2\n  a = conv(x, to=Co, stride=yes)\n  b = group(a, by=g)\n  c = scale(b, axes=(g,c))\n"
        "  d = merge(c)\nreturn d\n"},
    std::string_view{"kernel normed\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\n  c = relu(b)\nreturn c\n"},
    std::string_view{"kernel normed_groups\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = norm(b)\n  d = "
                     "linear(c, to=Co)\n"
                     "return d\n"},
    std::string_view{
        "kernel normed_windows\n  a = stride(x)\n  b = unfold(a)\n  c = norm(b)\n  d = linear(c, to=Co)\nreturn d\n"},
    std::string_view{
        "kernel softmax_normed\n  a = conv(x, to=Co, stride=yes)\n  b = softmax(a, axes=c)\n  c = norm(b)\nreturn c\n"},
    std::string_view{
        "kernel functions\n  a = conv(x, to=Co, stride=yes)\n  b = gelu(a)\n  c = sigmoid(b)\n  d = tanh(c)\n"
        "  e = hardswish(d)\nreturn e\n"},
    std::string_view{
        "kernel elements\n  a = conv(x, to=Co, stride=yes)\n  b = abs(a)\n  c = neg(b)\n  d = exp(c)\n  e = sin(d)\n"
        "  f = sqrt(e)\n  g = square(f)\nreturn g\n"},
    std::string_view{
        "kernel gate\n  a = conv(x, to=Co, stride=yes)\n  b = fold(a, axes=(h,w))\n  c = linear(b, to=Co)\n"
        "  d = sigmoid(c)\n  e = broadcast(d, a, op=mul)\nreturn e\n"},
    std::string_view{"kernel fold_max\n  a = conv(x, to=Co, stride=yes)\n  b = fold(a, axes=(h,w), by=max)\n"
                     "  c = broadcast(b, a, op=sub)\nreturn c\n"},
    std::string_view{
        "kernel fold_ties\n  a = conv(x, to=Co, stride=yes)\n  b = relu(a)\n  c = fold(b, axes=w, by=max)\n"
        "  d = broadcast(c, b, op=max)\n  e = broadcast(b, d, op=min)\nreturn e\n"},
    std::string_view{"kernel tiled\n  a = stride(x)\n  b = linear(a, to=Co/2)\n  c = linear(a, to=Co)\n"
                     "  d = broadcast(b, c, op=add)\nreturn d\n"},
    std::string_view{"kernel softmax_channels\n  a = conv(x, to=Co, stride=yes)\n  b = softmax(a, axes=c)\nreturn b\n"},
    std::string_view{
        "kernel softmax_positions\n  a = conv(x, to=Co, stride=yes)\n  b = softmax(a, axes=(h,w))\nreturn b\n"},
    std::string_view{"kernel softmax_groups\ngiven g=2\n  a = conv(x, to=Co, stride=yes)\n  b = group(a, by=g)\n"
                     "  c = softmax(b, axes=(g,w))\n  d = merge(c)\nreturn d\n"},
    std::string_view{"kernel attention\n  a = stride(x)\n  b = linear(a, to=Co/2)\n  c = linear(a, to=Co/2)\n  d = "
                     "linear(a, to=Co)\n"
                     "  e = matmul(b, c, left=channels, right=channels, softmax=yes)\n"
                     "  f = matmul(e, d, left=token, right=positions)\nreturn f\n"},
    std::string_view{
        "kernel covariance\n  a = stride(x)\n  b = linear(a, to=Co)\n  c = linear(a, to=Co)\n  d = linear(a, to=Co)\n"
        "  e = matmul(b, c, left=positions, right=positions, softmax=yes)\n"
        "  f = matmul(e, d, left=token, right=channels)\nreturn f\n"},
    std::string_view{
        "kernel concatenated\n  a = stride(x)\n  b = shift(a, axes=h, by=1)\n  c = concat(a, b)\n  d = concat(c, b)\n"
        "  e = linear(d, to=Co)\nreturn e\n"},
    std::string_view{"kernel concatenated_groups\ngiven g=2\n  a = stride(x)\n  b = group(a, by=g)\n  c = relu(b)\n  d "
                     "= concat(b, c)\n"
                     "  e = linear(d, to=Co)\nreturn e\n"},
};

}  // namespace kasimir
