// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/onnx/constant.h"
#include "kasimir/onnx/import.h"
#include "kasimir/onnx/names.h"
#include "kasimir/onnx/view.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace kasimir {

/// A value that depends on the image: a layer's result and how ONNX sees it. Its first axis is the batch, which `view`
/// leaves out.
struct Feature {
  int layer = 0;
  MapView view;
  bool batched = true;  ///< false: one image, whose axis of the batch is gone or somewhere among the others
  double factor = 1;    ///< still to be multiplied; other than 1 only where products of maps read it
};

/// What lies between x and gelu(x) = x * (1 + erf(x / sqrt 2)) / 2, which exporters write out in this or another order.
struct GeluPart {
  Feature x;
  bool one = false;      ///< 1 was added
  bool times_x = false;  ///< x was multiplied
  double factor = 1;
};

/// What lies between queries and keys and the mean of values: products of maps, then their softmax.
struct AttentionPart {
  int queries = 0;  ///< layers
  int keys = 0;
  std::int64_t heads = 1;
  double scale = 1;
  bool soft = false;     ///< the softmax was taken
  std::size_t axes = 0;  ///< of the products as an array, the batch's included
};

using SharedConstant = std::shared_ptr<const OnnxConstant>;
using OnnxValue = std::variant<SharedConstant, Feature, GeluPart, AttentionPart>;

/// Values of a layer's tensors by the end of their names, "weight".
using LayerValues = std::vector<std::pair<const char*, std::vector<float>>>;

/// Walks through a graph in its order and makes layers.
class OnnxImporter {
 public:
  /// `model` outlives the importer.
  OnnxImporter(const onnx::ModelProto& model, const std::filesystem::path& file, Shape3 input);

  ImportedNetwork run();

  struct Rule {
    std::string_view op;
    void (OnnxImporter::*read)();
  };
  /// The operators on features, sorted by name.
  static const std::vector<Rule>& rules();

 private:
  // Of the whole graph: importer.cpp.
  std::int64_t opset() const;
  void find_needed();
  [[nodiscard]] bool read_once(std::size_t i) const;  ///< nothing else reads that input
  void read_initializers();
  void read_input();
  void read_node(const onnx::NodeProto& proto);
  void fold_node();
  /// Counts values that are computed. @throws Error (input) where they are out of proportion to the file.
  void count_computed(std::int64_t values);
  void shape_of();
  [[noreturn]] void refuse() const;
  ImportedNetwork finish();

  // Values of the node at hand.
  [[nodiscard]] const OnnxValue& value(std::size_t i) const;
  [[nodiscard]] const Feature& feature(std::size_t i = 0) const;    ///< @throws Error (input) for a constant
  [[nodiscard]] const OnnxConstant* constant(std::size_t i) const;  ///< null: not given, or a feature
  [[nodiscard]] const OnnxConstant& weight(std::size_t i) const;    ///< of numbers. @throws Error (input) for others
  [[nodiscard]] std::vector<const OnnxConstant*> constants() const;
  [[nodiscard]] Shape3 shape(const Feature& of) const { return net_->shape(of.layer); }
  [[nodiscard]] std::vector<std::int64_t> array_shape(const Feature& of) const;  ///< with the batch
  /// The axis of the view that is the whole channel axis, in its order. @throws Error (input) if there is none.
  [[nodiscard]] std::size_t channel_axis(const Feature& of) const;
  /// An axis that is counted with the batch, as one of the view. @throws Error (input) for the batch.
  [[nodiscard]] std::size_t view_axis(const Feature& of, std::int64_t axis) const;

  // Results.
  void give(OnnxValue value, std::size_t output = 0);
  /// A layer and its values; channels that `op` leaves at 0 are the input's.
  int add(Op op, std::vector<int> inputs, LayerValues values = {}, std::string_view weight_name = {});
  /// A feature whose view has changed: a channel shuffle becomes a layer.
  void give_view(Feature of);
  /// The layer, if the feature is its map in the order NCHW. @throws Error (input) if not.
  [[nodiscard]] int map_of(const Feature& of) const;
  void give_map(int layer) { give(Feature{layer, MapView::of(net_->shape(layer))}); }
  /// The same view of a layer of the same shape.
  void give_like(const Feature& of, int layer) { give(Feature{layer, of.view, of.batched}); }
  void alias() { give(value(0)); }

  // Windows: import_windows.cpp.
  struct Window {
    std::int64_t kernel_h = 1, kernel_w = 1, stride = 1, dilation = 1;
    std::int64_t top = 0, left = 0, bottom = 0, right = 0;
    [[nodiscard]] bool padded() const { return top + left + bottom + right > 0; }
    [[nodiscard]] bool even() const { return top == bottom && left == right; }
  };
  [[nodiscard]] Window window(Shape3 in, const std::vector<std::int64_t>& kernel) const;
  void auto_pads(Window& window, Shape3 in, const std::string& how) const;
  /// Zeros around a map that a convolution can add itself, as exporters write PyTorch's ZeroPad2d: the layer before
  /// them, and `of` with them. Where they are not the same on both sides, x.
  [[nodiscard]] int with_zeros_before(int x, Window& of) const;
  void conv();
  void max_pool();
  void average_pool();
  void global_average();
  void global_maximum();
  void reduce_mean();
  void pad();

  // Arithmetic: import_arithmetic.cpp.
  void activation();
  void clip();
  void erf();
  /// True where an operand is a GeluPart, which was dealt with.
  bool gelu_step(std::size_t i, bool adds);
  void hard_sigmoid();
  void gelu();
  void batch_norm();
  void layer_norm();
  void add_values();
  void mul_values();
  void sub_values();
  void div_values();
  void gemm();
  void matmul();
  void dropout();
  void softmax();
  void linear(const Feature& x, std::vector<float> weights, std::int64_t out, std::optional<std::vector<float>> bias);
  /// A product with a matrix at each place.
  void pointwise(const Feature& x, std::vector<float> weights, std::int64_t out,
                 std::optional<std::vector<float>> bias);
  /// Values for each channel, of an array that is stretched over the feature. @throws Error (input) where it differs
  /// along other axes.
  [[nodiscard]] std::vector<float> per_channel(const Feature& of, const OnnxConstant& values) const;
  /// Input `i` times factors plus offsets, one of each for a channel; none: 1 and 0.
  void scale(std::size_t i, std::vector<float> factors, std::vector<float> offsets);
  /// Two features as layers that can be added or multiplied; the view is the first one's.
  [[nodiscard]] std::pair<Feature, Feature> partners(std::size_t i, std::size_t k);
  [[nodiscard]] bool is_gate(const Feature& gate, const Feature& of) const;

  // Sequences and attention: import_attention.cpp.
  /// True where the operator is a step of attention, which was dealt with.
  bool attention_step(std::size_t i, double factor);
  /// True where nothing but products of maps reads the result, which can take a factor with them.
  [[nodiscard]] bool read_by_products() const;
  void products();
  void mean_of_values(const AttentionPart& part);
  /// Heads of an array whose last axes are those of places and of a head's channels; `turned`: the other way round.
  [[nodiscard]] std::int64_t heads_of(const Feature& of, bool turned) const;
  /// Places in front of a sequence or behind it, whose values are constants.
  void join_places(const Feature& of, const OnnxConstant& values, std::size_t axis, bool front);
  void add_map(const Feature& of, std::size_t i, const OnnxConstant& values);
  /// One part of an axis. @throws Error (input) where it is no range of channels or rows.
  void pick(const Feature& of, std::size_t axis, std::int64_t index, bool keep);

  // Views: import_shapes.cpp.
  void reshape();
  void flatten();
  void transpose();
  void gather();
  void squeeze();
  void unsqueeze();
  void concat();
  void split();
  void slice();
  void view_as(const Feature& of, const std::vector<std::int64_t>& shape);

  const onnx::ModelProto& model_;
  std::filesystem::path path_;
  std::string file_;  ///< the model's name in errors
  Shape3 input_;
  std::int64_t opset_;
  std::int64_t batch_ = 1;
  OnnxTensorReader reader_;
  LayerNames names_;
  std::unique_ptr<NetworkBuilder> net_;
  std::map<int, LayerValues> values_of_layer_;
  struct Origin {
    std::string node, op, weight;
  };
  std::map<int, Origin> origins_;  ///< what layers are named after
  std::map<std::string, OnnxValue, std::less<>> values_;
  std::map<std::string, int, std::less<>> needed_;                ///< how many operators read it
  std::map<std::string, std::vector<int>, std::less<>> readers_;  ///< operators by what they read
  std::map<std::vector<int>, int> joined_;                        ///< concatenations by what they join
  std::int64_t stored_ = 0;                                       ///< values of the file's own tensors
  std::int64_t folded_ = 0;                                       ///< values that were computed so far
  std::vector<std::string> notes_;
  const OnnxNode* node_ = nullptr;  ///< the one at hand
};

}  // namespace kasimir
