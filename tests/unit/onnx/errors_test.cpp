// SPDX-License-Identifier: Apache-2.0
#include "unit/onnx/small_model.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "unit/network/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

using test::Numbers;
using test::SmallModel;
using ::testing::StartsWith;

std::string error_of(std::string_view bytes) {
  return message_of([&] { static_cast<void>(parse_onnx(bytes, "net.onnx")); });
}

TEST(OnnxErrors, NameAnUnknownOperatorItsNodeAndWhatToTry) {
  SmallModel model(18);
  const std::string x = model.node("Resize", {"x"});
  EXPECT_EQ(model.message(x),
            "net.onnx: node `resize1` is a `Resize` (operator set 18), which is not read\n"
            "  give images of the size that the network was made for, so that nothing is resized\n"
            "  read are: " +
                join(onnx_operators(), ", "));
  SmallModel other;
  const std::string y = other.node("FusedConv", {"x"});
  other.model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  EXPECT_THAT(other.message(y), StartsWith("net.onnx: node `fusedconv1` is a `com.microsoft.FusedConv` (operator set "
                                           "17), which is not read\n  read are: Add, AveragePool, "));
}

TEST(OnnxErrors, SayWhatAFileLacks) {
  EXPECT_EQ(error_of("not a model"), "net.onnx: it is no ONNX model, or it is damaged or cut off");
  EXPECT_EQ(error_of(""), "net.onnx: it is no ONNX model, or it is damaged or cut off");
  SmallModel old(9);
  EXPECT_EQ(old.message("x"),
            "net.onnx: its operators are of set 9, needed 11 or newer\n"
            "  export it again, or convert it with onnx.version_converter.convert_version");
  SmallModel two;
  static_cast<void>(two.bytes("x"));
  two.model.mutable_graph()->add_output()->set_name("y");
  EXPECT_EQ(error_of(two.model.SerializeAsString()),
            "net.onnx: it has 2 outputs, needed 1: a score for each class\n"
            "  export the network without its other outputs");
  SmallModel none;
  EXPECT_EQ(none.message("y"), "net.onnx: it has 0 inputs, needed 1: the images");
  SmallModel flat(17, {1, 10});
  EXPECT_EQ(flat.message("x"), "net.onnx: input `x` has 2 axes, needed 4: images [N, channels, height, width]");
  SmallModel open(17, {0, 3, 0, 0});
  EXPECT_EQ(open.message("x"),
            "net.onnx: input `x` has no fixed size\n"
            "  say which: --input CHANNELSxHEIGHTxWIDTH such as 3x224x224");
  EXPECT_EQ(open.message("x", {1, 8, 8}), "net.onnx: its images have 3 channels, asked for 1x8x8");
  EXPECT_EQ(open.message("x", {3, 8, 8}),
            "network `net` ends with `input` of shape 3x8x8, needed one number per class");
}

TEST(OnnxErrors, SayWhereAGraphIsBroken) {
  SmallModel model;
  EXPECT_EQ(model.message(model.node("Relu", {"y"})), "net.onnx: it has 0 inputs, needed 1: the images");
  SmallModel order;
  const std::string sum = order.node("Add", {"x", "late"});
  EXPECT_EQ(order.message(sum), "net.onnx: node `add1` (Add): it reads `late`, which nothing before it gives");
  SmallModel constant;
  EXPECT_EQ(constant.message(constant.node("Add", {constant.number(1), constant.node("Identity", {"x"}, {}, 1)})),
            "network `net` ends with `add3` of shape 3x8x8, needed one number per class");
  SmallModel second;
  const std::string norm = second.node("MaxPool", {"x"}, {{"kernel_shape", Numbers{8, 8}}}, 2);
  EXPECT_EQ(second.message(norm + ".1"),
            "net.onnx: node `maxpool1` (MaxPool): its result `maxpool1.1` is not computed "
            "here");
}

TEST(OnnxErrors, SayWhichFormOfAnOperatorIsNotRead) {
  const auto conv = [](const std::vector<test::Attribute>& attributes, const Numbers& shape = {4, 3, 3, 3}) {
    SmallModel model;
    return model.message(model.node("Conv", {"x", model.tensor(shape)}, attributes));
  };
  EXPECT_EQ(conv({{"strides", Numbers{1, 2}}}),
            "net.onnx: node `conv2` (Conv): strides 1 and 2 differ along height and width, which no layer here has");
  EXPECT_EQ(conv({{"dilations", Numbers{1, 2}}}),
            "net.onnx: node `conv2` (Conv): dilations 1 and 2 differ along height and width, which no layer here has");
  EXPECT_EQ(conv({{"pads", Numbers{-1, 0, 0, 0}}}),
            "net.onnx: node `conv2` (Conv): -1 among the sizes, strides, dilations and pads of its window");
  EXPECT_EQ(conv({{"group", std::int64_t{2}}}),
            "net.onnx: node `conv2` (Conv): weights 4x3x3x3 in 2 groups do not fit its input 3x8x8");
  EXPECT_EQ(conv({{"strides", std::int64_t{2}}}),
            "net.onnx: node `conv2` (Conv): attribute `strides` is no list of whole numbers");
  EXPECT_EQ(conv({}, {4, 3, 3}),
            "net.onnx: node `conv2` (Conv): its weights 4x3x3 have 3 axes, needed 4: images are maps");
  EXPECT_EQ(conv({}, {4, 3, 9, 9}),
            "network `net`, layer `conv2 (1)`: a window that spans 9 does not fit into 3x8x8 with padding 0\n"
            "  it is node `conv2` (Conv) of net.onnx");
  SmallModel clip;
  EXPECT_EQ(clip.message(clip.node("Clip", {"x", clip.number(-1), clip.number(1)})),
            "net.onnx: node `clip3` (Clip): bounds -1 and 1, needed 0 and 6, or 0 alone");
  SmallModel mixed;
  EXPECT_EQ(
      mixed.message(mixed.node("Reshape", {"x", mixed.integers({1, 16, 12})})),
      "net.onnx: node `reshape2` (Reshape): 1x3x8x8 becomes 1x16x12, which mixes the axes of a feature map 3x8x8");
  SmallModel lost;
  EXPECT_EQ(lost.message(lost.node("Reshape", {"x", lost.integers({1, 100})})),
            "net.onnx: node `reshape2` (Reshape): 1x3x8x8 cannot become 1x100");
  SmallModel batch(17, {2, 3, 8, 8});
  EXPECT_EQ(batch.message(batch.node("Reshape", {"x", batch.integers({-1})})),
            "net.onnx: node `reshape2` (Reshape): 2x3x8x8 becomes 384: the batch has to stay the first axis");
  SmallModel attention;
  const std::string soft = attention.node("Softmax", {"x"});
  EXPECT_EQ(attention.message(attention.node("Relu", {soft})),
            "net.onnx: node `softmax1` (Softmax): it is not the last operator: its input is no product of queries and "
            "keys");
  const auto heads = [](SmallModel& model) {  // [1, 3 heads, 64 places, 1 channel], and turned
    const std::string rows = model.node("Reshape", {"x", model.integers({1, 3, 64, 1})});
    return std::pair(rows, model.node("Reshape", {"x", model.integers({1, 3, 1, 64})}));
  };
  SmallModel hard;
  const auto [rows, columns] = heads(hard);
  const std::string products = hard.node("MatMul", {rows, columns});
  EXPECT_EQ(hard.message(hard.node("MatMul", {products, rows})),
            "net.onnx: node `matmul6` (MatMul): products of queries and keys times 1x3x64x1, needed their softmax and "
            "values of 3 heads");
  SmallModel alone;
  const auto [a, b] = heads(alone);
  EXPECT_EQ(alone.message(alone.node("Relu", {alone.node("MatMul", {a, b})})),
            "net.onnx: node `relu6` (Relu): input 1 is a product of queries and keys that is not read alone");
  SmallModel over;
  const auto [c, d] = heads(over);
  EXPECT_EQ(over.message(over.node("Softmax", {over.node("MatMul", {c, d})}, {{"axis", std::int64_t{1}}})),
            "net.onnx: node `softmax6` (Softmax): over axis 1 of products of queries and keys, needed one softmax over "
            "the last");
  SmallModel maps;
  EXPECT_EQ(
      maps.message(maps.node("MatMul", {"x", "x"})),
      "net.onnx: node `matmul1` (MatMul): a product of maps, 1x3x8x8 of them, needed attention: [.., heads, places, "
      "channels of a head]");
  SmallModel token;
  const std::string sequence = token.node("Reshape", {"x", token.integers({1, 3, 64})});
  EXPECT_EQ(token.message(token.node("Concat", {token.tensor({1, 2, 1}), sequence}, {{"axis", std::int64_t{2}}})),
            "net.onnx: node `concat4` (Concat): a constant 1x2x1 joined to 1x3x64, needed one image's and as many "
            "channels");
  SmallModel column;
  EXPECT_EQ(
      column.message(column.node("Gather", {"x", column.integers({2})}, {{"axis", std::int64_t{3}}})),
      "net.onnx: node `gather2` (Gather): it picks from axis 3 of 1x3x8x8, needed channels or rows that follow one "
      "another");
}

TEST(OnnxErrors, CompareTheSizesOfTensorsWithWhatIsThere) {
  const auto tensor = [](const Numbers& dims, const std::string& raw, int type = onnx::TensorProto::FLOAT) {
    SmallModel model;
    auto* made = model.model.mutable_graph()->add_initializer();
    made->set_name("w");
    made->set_data_type(type);
    for (const std::int64_t extent : dims) made->add_dims(extent);
    made->set_raw_data(raw);
    return model.message(model.node("Mul", {"x", "w"}));
  };
  EXPECT_EQ(tensor({2, 3}, "12345678"), "net.onnx: tensor `w` has 8 bytes, its shape 2x3 needs 24");
  EXPECT_EQ(tensor({1 << 30, 8}, "1234"), "net.onnx: tensor `w` has 4 bytes, its shape 1073741824x8 needs 34359738368");
  EXPECT_EQ(tensor({1LL << 40, 1LL << 40}, ""),
            "net.onnx: tensor `w` has the impossible shape 1099511627776x1099511627776");
  EXPECT_EQ(tensor({-1}, ""), "net.onnx: tensor `w` has the impossible shape -1");
  EXPECT_EQ(tensor({1}, "a", onnx::TensorProto::STRING),
            "net.onnx: tensor `w` has values of type STRING, needed floating-point or whole numbers");
}

TEST(OnnxErrors, StayInTheModelsFolder) {
  const auto outside = [](const std::string& location, const std::string& offset = "0") {
    SmallModel model;
    auto* made = model.model.mutable_graph()->add_initializer();
    made->set_name("w");
    made->set_data_type(onnx::TensorProto::FLOAT);
    made->add_dims(2);
    made->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location}, {"offset", offset}}) {
      auto* entry = made->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const auto folder = std::filesystem::path(::testing::TempDir()) / "onnx_beside";
    make_folder(folder);
    write_file(folder / "short.bin", "0123456789");
    const std::string bytes = model.bytes(model.node("Mul", {"x", "w"}));
    std::string message = message_of([&] { static_cast<void>(parse_onnx(bytes, folder / "net.onnx")); });
    const auto at = message.find(folder.string());
    return at == std::string::npos ? message : message.replace(at, folder.string().size(), "FOLDER");
  };
  EXPECT_EQ(outside("../w.bin"), "net.onnx: tensor `w` is in file `../w.bin`, which is not in the model's folder");
  EXPECT_EQ(outside("a/../../w.bin"),
            "net.onnx: tensor `w` is in file `a/../../w.bin`, which is not in the model's folder");
  EXPECT_EQ(outside("/etc/passwd"),
            "net.onnx: tensor `w` is in file `/etc/passwd`, which is not in the model's folder");
  EXPECT_EQ(outside("missing.bin"),
            "net.onnx: tensor `w` is in file `FOLDER/missing.bin`, which cannot be read: No such file or directory\n"
            "  a model and the files of its tensors stay together in one folder");
  EXPECT_EQ(outside("short.bin", "4"),
            "net.onnx: tensor `w` has 8 bytes at 4 of file `FOLDER/short.bin`, which has 10");
  EXPECT_EQ(outside("short.bin", "-5"),
            "net.onnx: tensor `w` has 8 bytes at -5 of file `FOLDER/short.bin`, which has 10");
}

TEST(OnnxErrors, LimitWhatAFewBytesAskFor) {
  SmallModel model;
  const std::string huge = model.node("ConstantOfShape", {model.integers({1 << 20, 1 << 20})});
  EXPECT_EQ(model.message(model.node("Mul", {"x", huge})),
            "net.onnx: node `constantofshape2` (ConstantOfShape): a constant of shape 1048576x1048576 is too large");
  SmallModel long_names;
  const std::string name(300, 'a');
  long_names.node("Foo", {"x"});
  long_names.model.mutable_graph()->mutable_node(0)->set_name(name + "\n");
  EXPECT_THAT(long_names.message("foo1"), StartsWith("net.onnx: node `" + std::string(120, 'a') + "..` is a `Foo`"));
}

TEST(OnnxErrors, SayWhenTheLastLayerHasNoNumberOfClasses) {
  SmallModel model;
  const ImportedNetwork read = model.read(model.node("GlobalAveragePool", {"x"}));
  EXPECT_EQ(message_of([&] { static_cast<void>(read.network.with_classes(10)); }),
            "network `net` has 3 classes, asked for 10: it ends with `globalaveragepool1` (global avgpool), which has "
            "no number of outputs");
}

}  // namespace
}  // namespace kasimir
