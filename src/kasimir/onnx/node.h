// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A name from a file as a message may print it: control characters replaced, long ones cut.
std::string shown(std::string_view name);

/// One operator of an ONNX graph, read without trust.
class OnnxNode {
 public:
  /// `proto` outlives the node. `file` is what errors begin with.
  OnnxNode(const onnx::NodeProto& proto, std::int64_t opset, std::string file)
      : proto_(proto), opset_(opset), file_(std::move(file)) {}

  [[nodiscard]] const onnx::NodeProto& proto() const { return proto_; }
  /// "Conv"; with its domain where that is not ONNX's own: "com.microsoft.FusedConv".
  [[nodiscard]] std::string op() const;
  [[nodiscard]] std::string name() const;  ///< its own, else that of its first result
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] std::size_t inputs() const { return static_cast<std::size_t>(proto_.input_size()); }
  [[nodiscard]] bool has_input(std::size_t i) const { return i < inputs() && !input(i).empty(); }
  [[nodiscard]] const std::string& input(std::size_t i) const { return proto_.input(static_cast<int>(i)); }
  [[nodiscard]] std::size_t outputs() const { return static_cast<std::size_t>(proto_.output_size()); }
  [[nodiscard]] const std::string& output(std::size_t i) const { return proto_.output(static_cast<int>(i)); }

  /// Attributes. @throws Error (input) for one of another type.
  [[nodiscard]] const onnx::AttributeProto* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, const std::string& otherwise) const;

  /// "net.onnx: node `a` (Conv): ..".
  [[nodiscard]] Error error(const std::string& what) const;
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> what, Args&&... args) const {
    throw error(fmt::format(what, std::forward<Args>(args)...));
  }

 private:
  [[nodiscard]] const onnx::AttributeProto* typed(std::string_view name, onnx::AttributeProto::AttributeType type,
                                                  const char* wanted) const;

  const onnx::NodeProto& proto_;
  std::int64_t opset_;
  std::string file_;
};

}  // namespace kasimir
