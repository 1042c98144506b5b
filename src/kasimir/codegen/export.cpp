// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/export.h"

#include "kasimir/base/error.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>

namespace kasimir {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace

std::map<std::string_view, const NamedTensor*> tensors_by_name(const NetworkPlan& plan,
                                                               const std::vector<NamedTensor>& weights) {
  const std::string& network = plan.network->name();
  std::map<std::string_view, const NamedTensor*> given;
  for (const NamedTensor& tensor : weights) given.emplace(tensor.name, &tensor);
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i) {
    for (const LayerPart& part : layer_parts(plan, static_cast<int>(i))) {
      const auto found = given.find(part.name);
      if (found == given.end())
        throw input_error("the weights have no tensor `{}`, which network {} has", part.name, network)
            .note("they are those of another network, or of other kernels in it");
      if (found->second->shape != part.shape)
        throw input_error("tensor `{}` of the weights is {}, network {} needs {}", part.name,
                          shape_text(found->second->shape), network, shape_text(part.shape))
            .note("they are those of another network, or of other kernels in it");
      KASIMIR_CHECK(static_cast<std::int64_t>(found->second->values.size()) == part.elements(),
                    "{} values for tensor {}", found->second->values.size(), part.name);
      ++wanted;
    }
  }
  if (wanted == given.size()) return given;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i)
    for (const LayerPart& part : layer_parts(plan, static_cast<int>(i))) given.erase(part.name);
  throw input_error("the weights have a tensor `{}`, which network {} has not", given.begin()->first, network)
      .note("they are those of another network, or of other kernels in it");
}

std::string to_safetensors(const std::vector<NamedTensor>& tensors, const ExportNotes& notes) {
  static_assert(std::endian::native == std::endian::little && sizeof(float) == 4);
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : notes) header["__metadata__"][key] = value;
  std::size_t end = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // numbers begin at a multiple of 8
  const auto length = static_cast<std::uint64_t>(text.size());
  std::string file(sizeof(length) + text.size() + end, '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  std::memcpy(file.data() + sizeof(length), text.data(), text.size());
  char* to = file.data() + sizeof(length) + text.size();
  for (const NamedTensor& tensor : tensors) {
    const std::size_t bytes = tensor.values.size() * sizeof(float);
    if (bytes > 0) std::memcpy(to, tensor.values.data(), bytes);
    to += bytes;
  }
  return file;
}

ExportedFile check_file(const Network& network, const ExportCheck& check) {
  const Shape3 in = network.input();
  KASIMIR_CHECK(static_cast<std::int64_t>(check.input.size()) == check.images * in.c * in.h * in.w,
                "{} numbers for {} images", check.input.size(), check.images);
  KASIMIR_CHECK(static_cast<std::int64_t>(check.output.size()) == check.images * network.classes(),
                "{} scores for {} images", check.output.size(), check.images);
  return {"check.safetensors", to_safetensors({{"input", {check.images, in.c, in.h, in.w}, false, check.input},
                                               {"output", {check.images, network.classes()}, false, check.output}})};
}

}  // namespace kasimir
