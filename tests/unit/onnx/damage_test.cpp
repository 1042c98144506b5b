// SPDX-License-Identifier: Apache-2.0
// Models cut at every length and with bytes changed: an error or a network, nothing else.
#include "unit/onnx/small_model.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <random>

namespace kasimir {
namespace {

/// True if the bytes are a network. @throws whatever is no input error.
bool is_network(const std::string& bytes) {
  try {
    static_cast<void>(parse_onnx(bytes, "damaged.onnx"));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).find("damaged") != std::string_view::npos) << error.what();
    return false;
  }
}

std::string fixture(const char* name) {
  return read_file(std::filesystem::path(KASIMIR_SOURCE_DIR) / "tests/reference/onnx" / name);
}

TEST(DamagedOnnx, IsAnErrorWhereverItIsCutOff) {
  for (const char* name : {"mixed-script.onnx", "mixed-dynamo.onnx"}) {
    const std::string whole = fixture(name);
    ASSERT_TRUE(is_network(whole));
    // The model's graph is followed by the version of the operators, without which a file is refused too.
    for (std::size_t length = 0; length < whole.size(); length += length % 7 + 1)
      EXPECT_FALSE(is_network(whole.substr(0, length))) << name << " cut off at " << length;
  }
}

TEST(DamagedOnnx, IsAnErrorOrANetworkWithAnyByteChanged) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng random(seed);
  int networks = 0;
  int tries = 0;
  for (const char* name : {"mixed-script.onnx", "mixed-dynamo.onnx"}) {
    const std::string whole = fixture(name);
    for (std::size_t at = 0; at < whole.size(); at += 1 + random.below(4)) {
      std::string changed = whole;
      changed[at] = static_cast<char>(random.below(256));
      if (random.below(3) == 0) changed[random.below(changed.size())] ^= static_cast<char>(1U << random.below(8));
      networks += static_cast<int>(is_network(changed));
      ++tries;
    }
  }
  // Most bytes are numbers of weights.
  EXPECT_GT(networks, 0);
  EXPECT_LT(networks, tries);
}

TEST(DamagedOnnx, IsAnErrorWhereMessagesAreNestedForEver) {
  // Field 7 (graph) of the model, field 1 (node), field 5 (attribute), field 6 (graph), again and again.
  std::string inner;
  const auto wrapped = [](char tag, const std::string& content) {
    std::string length;
    for (std::size_t rest = content.size();; rest >>= 7) {
      length.push_back(static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0)));
      if (rest <= 127) break;
    }
    return tag + length + content;
  };
  for (int depth = 0; depth < 2000; ++depth) inner = wrapped(0x0a, wrapped(0x2a, wrapped(0x32, inner)));
  EXPECT_FALSE(is_network(wrapped(0x3a, inner)));
}

}  // namespace
}  // namespace kasimir
