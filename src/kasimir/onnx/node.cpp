// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/node.h"

namespace kasimir {

std::string shown(std::string_view name) {
  constexpr std::size_t most = 120;
  std::string result;
  for (const char c : name.substr(0, most)) result += c < ' ' || c > '~' || c == '`' ? '?' : c;
  return name.size() > most ? result + ".." : result;
}

std::string OnnxNode::op() const {
  const std::string& domain = proto_.domain();
  const bool own = domain.empty() || domain == "ai.onnx";
  return shown(own ? proto_.op_type() : domain + "." + proto_.op_type());
}

std::string OnnxNode::name() const {
  return proto_.name().empty() && proto_.output_size() > 0 ? proto_.output(0) : proto_.name();
}

Error OnnxNode::error(const std::string& what) const {
  return input_error("{}: node `{}` ({}): {}", file_, shown(name()), op(), what);
}

const onnx::AttributeProto* OnnxNode::find(std::string_view name) const {
  for (const auto& attribute : proto_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

const onnx::AttributeProto* OnnxNode::typed(std::string_view name, onnx::AttributeProto::AttributeType type,
                                            const char* wanted) const {
  const auto* attribute = find(name);
  if (attribute != nullptr && attribute->type() != type) fail("attribute `{}` is no {}", name, wanted);
  return attribute;
}

std::int64_t OnnxNode::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* attribute = typed(name, onnx::AttributeProto::INT, "whole number");
  return attribute == nullptr ? otherwise : attribute->i();
}

double OnnxNode::real(std::string_view name, double otherwise) const {
  const auto* attribute = typed(name, onnx::AttributeProto::FLOAT, "number");
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}

std::vector<std::int64_t> OnnxNode::integers(std::string_view name, std::vector<std::int64_t> otherwise) const {
  const auto* attribute = typed(name, onnx::AttributeProto::INTS, "list of whole numbers");
  if (attribute == nullptr) return otherwise;
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::string OnnxNode::text(std::string_view name, const std::string& otherwise) const {
  const auto* attribute = typed(name, onnx::AttributeProto::STRING, "text");
  return attribute == nullptr ? otherwise : attribute->s();
}

}  // namespace kasimir
