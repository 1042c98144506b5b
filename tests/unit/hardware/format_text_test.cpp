// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/hardware/format/evaluation_text.h"
#include "kasimir/hardware/format/zigzag.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kasimir {
namespace {

constexpr const char* workload = R"(
- id: 0
  name: conv1
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 3, 112, 112, 7, 7]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 0}
  pr_loop_dims: [IX, IY]
  pr_loop_sizes: [224, 224]
  padding: [[3, 2], [3, 2]]
- id: 1
  operator_type: MatMul
  equation: O[a][b]+=I[a][c]*W[c][b]
  dimension_relations: []
  loop_dims: [A, B, C]
  loop_sizes: [104, 24, 8]
  operand_precision: {W: 4, I: 8, O: 32}
)";

TEST(ZigzagWorkload, ReadsEquationsRelationsAndPrecisions) {
  const std::vector<NamedProblem> layers = parse_zigzag_workload(workload, "w.yaml");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "conv1");
  EXPECT_EQ(
      str(layers[0].problem),
      "O[b,k,oy,ox] += W[k,c,fy,fx] * I[b,c,2*oy+fy-3<224,2*ox+fx-3<224] for b=1 k=64 c=3 oy=112 ox=112 fy=7 fx=7 "
      "with O:8/16 W:8@weight I:8@input");
  EXPECT_EQ(layers[1].name, "layer 1");
  EXPECT_EQ(str(layers[1].problem), "O[a,b] += I[a,c] * W[c,b] for a=104 b=24 c=8 with O:32 I:8 W:4");
}

TEST(ZigzagWorkload, TakesPaddingOutOfTheWindowsWhereNoSizesAreGiven) {
  const std::string text =
      "- {equation: 'O[x]+=W[f]*I[i]', dimension_relations: [i=1*x+1*f], loop_dims: [X, F], loop_sizes: [8, 3], "
      "operand_precision: {O: 8, W: 8, I: 8}, padding: [[1, 1]]}\n";
  EXPECT_EQ(str(parse_zigzag_workload(text, "w.yaml")[0].problem),
            "O[x] += W[f] * I[x+f-1<8] for x=8 f=3 with O:8 W:8@weight I:8@input");
}

TEST(ZigzagWorkload, RefusesWhatItDoesNotKnowByNameAndLine) {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text = workload;
    text.replace(text.find(from), from.size(), to);
    return message_of([&] { parse_zigzag_workload(text, "w.yaml"); });
  };
  EXPECT_EQ(
      with("operator_type: Conv", "layer_type: Conv"),
      "layer 0: unknown key `layer_type`\n  w.yaml:4:3\n  known: id, operator_type, operand_source, "
      "constant_operands, name, loop_dims, loop_sizes, dimension_relations, pr_loop_dims, pr_loop_sizes, padding, "
      "equation, operand_precision");
  EXPECT_EQ(with("64, 3, 112", "64, 112"), "layer 0: 6 sizes for 7 loops\n  w.yaml:8:15");
  EXPECT_EQ(with("[ix=2*ox", "[ix=2*oz"), "layer 0: expected a term like 2*ox of loops, found `2*oz`\n  w.yaml:6:24");
  EXPECT_EQ(with("[ix=2*ox+1*fx", "[ox=2*ix+1*fx"),
            "layer 0: `ox=2*ix+1*fx` defines ox, which is a loop\n  w.yaml:6:24");
  EXPECT_EQ(with("W[k][c]", "W[k][z]"), "layer 0: `z` is no loop and no index of a relation\n  w.yaml:5:13");
  EXPECT_EQ(with("{W: 8, I: 8, O: 16", "{W: 8, I: 8, O: 16, A: 2"),
            "layer 0, operand_precision: unknown key `A`\n  w.yaml:9:42\n  known: O, W, I, O_final");
  EXPECT_EQ(message_of([] { parse_zigzag_workload("a: 1", "w.yaml"); }), "expected a list of layers\n  w.yaml:1:1");
}

TEST(EvaluationText, HasEveryCountAndTheTotals) {
  const CostModel model(matrix_product(8, 16, 4), preset("gemmini"));
  const Mapping mapping =
      parse_mapping("L3[OIW] M8 - L2[IW] N16X - L1[O] K4X - L0[W] M1", model.problem, model.architecture);
  const Evaluation evaluation = evaluate(model, mapping);
  const nlohmann::json json = evaluation_json(model, mapping, evaluation);
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_EQ(json.at("mapping"), str(mapping, model.problem, model.architecture));
  EXPECT_EQ(json.at("totals").at("cycles"), evaluation.cycles);
  double sum = 0;
  for (const auto& [name, pj] : json.at("totals").at("energy_pj_by").items()) sum += pj.get<double>();
  EXPECT_NEAR(sum, evaluation.energy_pj, 1e-9 * sum);
  const auto rows = level_rows(model, evaluation);
  ASSERT_EQ(json.at("levels").size(), rows.size());
  EXPECT_EQ(json.at("levels")[0].at("reads"), rows[0].reads);

  const std::string csv = evaluation_csv("a, \"b\"", model, evaluation);
  const std::vector<std::string> lines = split(csv, '\n');
  ASSERT_EQ(lines.size(), rows.size() + 2);
  EXPECT_TRUE(lines[0].starts_with("\"a, \"\"b\"\"\",dram,")) << lines[0];
  const auto columns = split(evaluation_csv_header(), ',').size();
  EXPECT_EQ(split(split(evaluation_csv("x", model, evaluation), '\n')[0], ',').size(), columns);
  EXPECT_NE(csv.find(fmt::format(",total,,,,,,,,{},{},", evaluation.energy_pj, evaluation.cycles)), std::string::npos);
}

TEST(EvaluationText, NamesWhatDoesNotFit) {
  const CostModel model(matrix_product(8, 64, 4), preset("gemmini"));
  const Mapping mapping =
      parse_mapping("L3[OIW] M8 - L2[IW] N64X - L1[O] K4X - L0[W] M1", model.problem, model.architecture);
  const nlohmann::json json = evaluation_json(model, mapping, evaluate(model, mapping));
  EXPECT_EQ(json.at("fits"), false);
  EXPECT_EQ(json.at("violations").dump(), R"(["level scratchpad would feed 64 columns, there are 16"])");
}

}  // namespace
}  // namespace kasimir
