// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/quantization_file.h"
#include "unit/network/message.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

std::string with(const std::string& place) {
  return R"({"format": "kasimir quantization 1", "places": {"conv.weight": )" + place + "}}";
}

std::string read(const std::string& text) {
  return message_of([&] { parse_quantization(text, "q.json"); });
}

TEST(QuantizationFile, ReadsBackWhatItWrites) {
  Quantization quantization;
  quantization["stage1.conv.weight"] = {{4, true, true}, {6, false, false}, {0.1F, 0.3F, 1.0e-7F}, 1, 1.0F / 3};
  quantization["fc.weight"] = {{2, true, false}, {16, true, false}, {2.5F}, 0, 3.0e9F};
  EXPECT_EQ(parse_quantization(quantization_text(quantization), "q.json"), quantization);
  EXPECT_TRUE(parse_quantization(quantization_text({}), "q.json").empty());
}

TEST(QuantizationFile, LeavesOtherKeysAlone) {
  EXPECT_TRUE(
      parse_quantization(R"({"format": "kasimir quantization 1", "network": "resnet8", "places": {}})", "q").empty());
}

TEST(QuantizationFile, SaysWhatIsWrong) {
  constexpr auto no_file =
      R"(q.json: no quantisation, needed is JSON with "format": "kasimir quantization 1" and "places")";
  for (const auto* text : {"", "{", "[]", R"({"places": {}})", R"({"format": "kasimir quantization 1"})"})
    EXPECT_EQ(read(text), no_file) << text;
  EXPECT_EQ(read(with("3")), "q.json: place conv.weight: 3, needed is an object");
  EXPECT_EQ(read(with(R"({"wieght": "int8"})")), "q.json: place conv.weight: the key `wieght` is not known");
  EXPECT_EQ(read(with(R"({"weight": "int8", "activation": "int8", "channel_axes": 0, "weight_steps": [1]})")),
            "q.json: place conv.weight: `activation_step` is missing");
  const auto place = [](const std::string& format, const std::string& axes, const std::string& steps) {
    return with(R"({"weight": ")" + format + R"(", "activation": "uint8", "activation_step": 1, "channel_axes": )" +
                axes + R"(, "weight_steps": )" + steps + "}");
  };
  EXPECT_EQ(read(place("int9", "0", "[1]")),
            "q.json: place conv.weight: the number format `int9`\n  known are int, uint and sint (symmetric) with 2 "
            "to 8 or 16 bits, such as uint8");
  EXPECT_EQ(read(place("int8", "-1", "[1]")),
            "q.json: place conv.weight: channel_axes is -1, needed is a whole number from 0");
  EXPECT_EQ(read(place("int8", "0", "[]")), "q.json: place conv.weight: weight_steps is no list of steps");
  EXPECT_EQ(read(place("int8", "0", "[0]")), "q.json: place conv.weight: the step 0, needed is a number above 0");
  EXPECT_EQ(read(place("int8", "0", "[-0.5]")), "q.json: place conv.weight: the step -0.5, needed is a number above 0");
}

}  // namespace
}  // namespace kasimir
