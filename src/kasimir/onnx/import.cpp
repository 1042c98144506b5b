// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/import.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/onnx/fold.h"
#include "kasimir/onnx/importer.h"

#include <limits>
#include <set>

namespace kasimir {

ImportedNetwork import_onnx(const std::filesystem::path& file, Shape3 input) {
  return parse_onnx(read_file(file), file, input);
}

ImportedNetwork parse_onnx(std::string_view bytes, const std::filesystem::path& file, Shape3 input) {
  const std::string name = file.filename().string();
  if (bytes.size() > std::numeric_limits<std::int32_t>::max())
    throw input_error("{}: it has {} bytes, more than the 2 GiB of one ONNX file", name, bytes.size())
        .note("export it with its tensors in a file of their own");
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph())
    throw input_error("{}: it is no ONNX model, or it is damaged or cut off", name);
  return OnnxImporter(model, file, input).run();
}

std::vector<std::string> onnx_operators() {
  std::set<std::string> all;
  for (const auto& rule : OnnxImporter::rules()) all.emplace(rule.op);
  for (std::string& op : folded_operators()) all.insert(std::move(op));
  return {all.begin(), all.end()};
}

}  // namespace kasimir
