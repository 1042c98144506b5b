// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/architecture.h"

#include "unit/hardware/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

constexpr const char* small = R"(name = "small"
source = "a paper"
clock = "500 MHz"

[[level]]
name = "dram"
bandwidth = "8 GB/s"
read_energy_per_bit = "20 pJ/bit"

[[level]]
name = "buffer"
keeps = ["input", "output"]
capacity = "2 KiB"
capacity_input = "1 KiB"
read_bandwidth = "4 B/cycle"
read_energy = { value = "1.5 pJ", source = "another paper" }
access_energy_per_kib = "0.25 pJ/KiB"
leakage = "20 uW"
area = "0.01 mm2"
buffering = "double"
x = { size = 4, shares = ["input"], reduction = false }
share_overlaps = true
systolic = "weight"

[compute]
engine = "bit_serial"
energy = "200 fJ"
area = "100 um2"
[[compute.precision]]
input_bits = 4
weight_bits = 4
operations_per_cycle = 3
energy = "0.1 pJ"
)";

TEST(Architecture, ReadsUnitsSourcesAndCounts) {
  const Architecture architecture = parse_architecture(small, "small.toml");
  EXPECT_EQ(architecture.clock_mhz, 500);
  ASSERT_EQ(architecture.levels.size(), 2U);
  EXPECT_EQ(architecture.levels[0].bandwidth, 128) << "8 GB/s are 16 bytes in a cycle of 2 ns";
  const MemoryLevel& buffer = architecture.levels[1];
  EXPECT_EQ(buffer.keeps, role_bit(OperandRole::input) | role_bit(OperandRole::output));
  EXPECT_EQ(buffer.capacity_bits, 16384);
  EXPECT_EQ(buffer.partition_bits[0], 8192);
  EXPECT_EQ(buffer.partition_bits[1], MemoryLevel::unbounded);
  EXPECT_EQ(buffer.read_bandwidth, 32);
  EXPECT_EQ(access_pj(buffer, buffer.read_pj), 2);
  EXPECT_EQ(buffer.sources.at("read_energy"), "another paper");
  EXPECT_EQ(buffer.leakage_mw, 0.02);
  EXPECT_EQ(buffer.buffering, Buffering::doubled);
  EXPECT_EQ(buffer.x, (FanOut{.size = 4, .multicast = true, .reduction = false, .shares = 1}));
  EXPECT_TRUE(buffer.share_overlaps);
  EXPECT_EQ(buffer.systolic, Systolic::weight);
  EXPECT_EQ(architecture.compute.engine, MacEngine::bit_serial);
  EXPECT_EQ(architecture.compute.energy_pj, 0.2);
  EXPECT_EQ(architecture.units(), 4);
  EXPECT_EQ(architecture.instances(1), 1);
  EXPECT_EQ(architecture.area_um2(), 10000 + 400);
  EXPECT_EQ(architecture.leakage_mw(), 0.02);
  EXPECT_EQ(architecture.find_level("buffer"), 1);
  EXPECT_EQ(architecture.find_level("cache"), -1);
}

TEST(Architecture, PrintsWhatItParses) {
  const Architecture architecture = parse_architecture(small, "small.toml");
  EXPECT_EQ(parse_architecture(to_toml(architecture), "printed"), architecture) << to_toml(architecture);
  for (const std::string& name : preset_names())
    EXPECT_EQ(parse_architecture(to_toml(preset(name)), "printed"), preset(name)) << to_toml(preset(name));
}

TEST(Architecture, ComesWithPresets) {
  EXPECT_THAT(preset_names(), testing::ElementsAre("eyeriss_row_stationary", "gemmini", "systolic_is", "systolic_os",
                                                   "systolic_ws", "tpu_v1", "vector_unit"));
  for (const std::string& name : preset_names()) EXPECT_EQ(preset(name).name, name);
  EXPECT_EQ(preset("gemmini").units(), 256);
  EXPECT_EQ(preset("eyeriss_row_stationary").units(), 168);
  EXPECT_EQ(preset("tpu_v1").units(), 65536);
  EXPECT_EQ(message_of([] { preset("gemini"); }), "no preset is called `gemini`\n  did you mean `gemmini`?");
}

std::string read(const std::string& text) {
  return message_of([&] { parse_architecture(text, "a.toml"); });
}

TEST(Architecture, SaysWhatIsWrongWithAFileAndWhere) {
  const std::string head = "name = \"a\"\nsource = \"me\"\n";
  const std::string dram = "[[level]]\nname = \"dram\"\n";
  EXPECT_EQ(read("name = "), "not TOML: Error while parsing key-value pair: encountered end-of-file\n  a.toml:1:8");
  EXPECT_EQ(read("x = 1\n"), "architecture: `name` is missing\n  a.toml:1:1");
  EXPECT_EQ(read(head + dram + "bandwith = \"1 bit/cycle\"\n"),
            "level dram: unknown key `bandwith`\n  a.toml:5:1\n  did you mean `bandwidth`?");
  EXPECT_EQ(read(head + dram + "capacity = 64\n"),
            "level dram: `capacity` must be a text of a number and a unit: `bit`, `B`, `KiB`, `MiB`, `GiB`\n"
            "  a.toml:5:12");
  EXPECT_EQ(read(head + dram + "capacity = \"64 kb\"\n"),
            "level dram: `capacity` must be a text of a number and a unit: `bit`, `B`, `KiB`, `MiB`, `GiB`\n"
            "  a.toml:5:12");
  EXPECT_EQ(read("name = \"a\"\n" + dram + "capacity = \"64 KiB\"\n"),
            "level dram: `capacity` has no source: add `source = \"...\"` to the table or to the number\n"
            "  a.toml:4:12");
  EXPECT_EQ(read(head + dram + "capacity = { value = \"64 KiB\" }\n"),
            "level dram: `capacity` must be a number or { value = .., source = .. }\n  a.toml:5:12");
  EXPECT_EQ(read(head + "clock = \"1 s\"\n"),
            "architecture: `clock` must be a text of a number and a unit: `MHz`, `GHz`\n  a.toml:3:9");
  EXPECT_EQ(read(head + dram + "buffering = \"triple\"\n"),
            "level dram: `buffering` must be one of overlapped, double, single\n  a.toml:5:13");
  EXPECT_EQ(read(head + dram + "keeps = [\"inputs\"]\n"),
            "level dram: `keeps` must be a list of input, weight, output\n  a.toml:5:10");
  EXPECT_EQ(read(head + dram + "keeps = \"input\"\n"),
            "level dram: `keeps` must be a list of input, weight, output\n  a.toml:5:9");
  EXPECT_EQ(read(head + dram + "share_overlaps = 1\n"),
            "level dram: `share_overlaps` must be true or false\n  a.toml:5:18");
  EXPECT_EQ(read(head + dram + "x = 4\n"), "level dram: `x` must be a table\n  a.toml:5:5");
  EXPECT_EQ(read(head + dram + "x = { size = 1.5 }\n"), "level dram, x: `size` must be a whole number\n  a.toml:5:14");
  EXPECT_EQ(read(head + dram + "x = { size = { value = 2, source = \"s\" } }\n"),
            "level dram, x: `size` cannot have a source of its own\n  a.toml:5:5");
  EXPECT_EQ(read(head + dram + "name = 3\n").substr(0, 9), "not TOML:");
  EXPECT_EQ(read(head + "[[level]]\nname = 3\n"), "level without name: `name` must be a text\n  a.toml:4:8");
  EXPECT_EQ(read(head + "level = 3\n"), "architecture: `level` must be a list of tables\n  a.toml:3:9");
  EXPECT_EQ(read(head + dram + "[compute]\noperations_per_cycle = \"2\"\n"),
            "compute: `operations_per_cycle` must be a plain number\n  a.toml:6:24");
}

TEST(Architecture, RefusesWhatCannotBe) {
  const auto check = [](auto change) {
    Architecture architecture = parse_architecture(small, "small.toml");
    change(architecture);
    return message_of([&] { check_architecture(architecture); });
  };
  EXPECT_EQ(check([](Architecture& a) { a.levels.clear(); }), "architecture small has 0 levels, 1 to 12 are possible");
  EXPECT_EQ(check([](Architecture& a) { a.clock_mhz = 0; }),
            "architecture small: a clock of 0 MHz, more than 0 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.levels[1].name = ""; }), "architecture small: a level has no name");
  EXPECT_EQ(check([](Architecture& a) { a.levels[1].name = "dram"; }), "architecture small: level dram is there twice");
  EXPECT_EQ(check([](Architecture& a) { a.levels[1].capacity_bits = 0; }),
            "level buffer: a capacity or bandwidth of 0, more than 0 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.levels[1].leakage_mw = -1; }),
            "level buffer: an energy, area or power of -1, at least 0 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.levels[1].x.size = 0; }),
            "level buffer: a fan-out of 0, at least 1 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.levels[0].keeps = 1; }),
            "architecture small: the outermost level dram must keep input, weight and output");
  EXPECT_EQ(check([](Architecture& a) { a.compute.input_bits = 0; }),
            "compute: operands of 0 and 8 bits, 1 to 64 are possible");
  EXPECT_EQ(check([](Architecture& a) { a.compute.operations_per_cycle = 0; }),
            "compute: 0 operations per cycle, more than 0 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.compute.energy_pj = -2; }),
            "compute: an energy, area or power of -2, at least 0 is needed");
  EXPECT_EQ(check([](Architecture& a) { a.compute.table[0].operations_per_cycle = 0; }),
            "compute: the entry for 4 x 4 bits needs a speed above 0, an energy and an area of at least 0");
}

ComputeUnit unit(MacEngine engine) {
  ComputeUnit result;
  result.engine = engine;
  result.energy_pj = 1;
  result.area_um2 = 64;
  return result;
}

TEST(ComputeUnit, MultipliesOperandsOfOtherWidths) {
  const auto speed = [](MacEngine engine, int input, int weight) {
    return mac_cost(unit(engine), input, weight).operations_per_cycle;
  };
  EXPECT_EQ(speed(MacEngine::fixed, 4, 4), 1);
  EXPECT_EQ(speed(MacEngine::fixed, 16, 8), 0.5);
  EXPECT_EQ(speed(MacEngine::fixed, 16, 16), 0.25);
  EXPECT_EQ(speed(MacEngine::bit_serial, 4, 8), 2) << "Stripes: time follows the activations";
  EXPECT_EQ(speed(MacEngine::bit_serial, 8, 4), 1);
  EXPECT_EQ(speed(MacEngine::bit_serial_both, 4, 2), 8) << "Loom: time follows both";
  EXPECT_EQ(speed(MacEngine::bit_fusion, 2, 2), 16) << "Bit Fusion, ISCA 2018: 16 bricks of 2 x 2 bits";
  EXPECT_EQ(speed(MacEngine::bit_fusion, 3, 8), 2);
  EXPECT_EQ(speed(MacEngine::bit_fusion, 16, 16), 0.25);
  EXPECT_EQ(speed(MacEngine::dsp48, 8, 8), 2);
  EXPECT_EQ(speed(MacEngine::dsp48, 4, 4), 4);
  EXPECT_EQ(speed(MacEngine::dsp48, 3, 2), 6);
  EXPECT_EQ(speed(MacEngine::dsp48, 16, 16), 1);
  EXPECT_EQ(speed(MacEngine::dsp48, 24, 24), 0.5);
  EXPECT_EQ(speed(MacEngine::dsp58, 8, 8), 3);
  EXPECT_EQ(speed(MacEngine::lut, 2, 2), 1);
}

TEST(ComputeUnit, SpendsEnergyAreaAndBlocksByWidth) {
  EXPECT_EQ(mac_cost(unit(MacEngine::fixed), 4, 4).energy_pj, 1);
  ComputeUnit gated = unit(MacEngine::fixed);
  gated.gates_operands = true;
  EXPECT_EQ(mac_cost(gated, 4, 4).energy_pj, 0.25);
  EXPECT_EQ(mac_cost(gated, 4, 4).area_um2, 16);
  EXPECT_EQ(mac_cost(unit(MacEngine::bit_serial), 4, 2).area_um2, 16);
  EXPECT_EQ(mac_cost(unit(MacEngine::bit_serial_both), 4, 2).energy_pj, 0.125);
  EXPECT_EQ(mac_cost(unit(MacEngine::bit_fusion), 2, 2).energy_pj, 1.0 / 16);
  EXPECT_EQ(mac_cost(unit(MacEngine::dsp48), 8, 8).dsp, 1);
  // FINN-R: 1.1 * ((2 * ceil(8 / 6) - 1) * 8 + 2 * 8)
  EXPECT_DOUBLE_EQ(mac_cost(unit(MacEngine::lut), 4, 4).lut, 1.1 * (3 * 8 + 16));
  ComputeUnit tabled = unit(MacEngine::fixed);
  tabled.table = {{.input_bits = 2, .weight_bits = 4, .operations_per_cycle = 5, .energy_pj = 7, .area_um2 = 9}};
  EXPECT_EQ(mac_cost(tabled, 2, 4).operations_per_cycle, 5);
  EXPECT_EQ(mac_cost(tabled, 2, 4).energy_pj, 7);
  EXPECT_EQ(mac_cost(tabled, 2, 4).area_um2, 9);
  EXPECT_EQ(mac_cost(tabled, 4, 2).operations_per_cycle, 1);
}

TEST(ComputeUnit, NeverIsSlowerOrDearerWithFewerBits) {
  for (const MacEngine engine : {MacEngine::fixed, MacEngine::bit_serial, MacEngine::bit_serial_both,
                                 MacEngine::bit_fusion, MacEngine::dsp48, MacEngine::dsp58, MacEngine::lut})
    for (int input = 1; input < 32; ++input)
      for (int weight = 1; weight <= 32; ++weight) {
        const MacCost few = mac_cost(unit(engine), input, weight);
        const MacCost many = mac_cost(unit(engine), input + 1, weight);
        EXPECT_GE(few.operations_per_cycle, many.operations_per_cycle) << input << " x " << weight;
        EXPECT_LE(few.energy_pj, many.energy_pj) << input << " x " << weight;
        EXPECT_LE(few.area_um2, many.area_um2) << input << " x " << weight;
        EXPECT_LE(few.lut, many.lut) << input << " x " << weight;
      }
}

}  // namespace
}  // namespace kasimir
