// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/command.h"
#include "kasimir/hardware/check.h"
#include "kasimir/hardware/evaluate.h"
#include "kasimir/hardware/pipeline/layer.h"
#include "kasimir/hardware/quantity.h"
#include "kasimir/hardware/search/search.h"
#include "kasimir/network/plan.h"

#include <string>
#include <vector>

/// What the parts of `kasimir accel` share: how problems, machines and mappings are named on the command line.
namespace kasimir {

/// What is to be computed: exactly one of `network`, `layer`, `problem`.
struct AccelInput {
  std::string network;
  std::string kernel;  ///< replaces convolutions of the network
  std::vector<std::string> replace, keep;
  std::string input;
  double width = 1;
  std::int64_t batch = 1;
  std::string layer;    ///< an equation
  std::string problem;  ///< a file
  std::string bits = "8,8,8,32";
  bool count_epilogues = false;  ///< element-wise work behind a sum is part of its problem
};
void add_input_options(CLI::App& app, AccelInput& input);

/// A problem, and how often it is computed.
struct AccelLayer {
  std::string name;  ///< of the first that is like it
  Problem problem;
  std::int64_t times = 1;
  bool without_epilogue = false;  ///< element-wise work behind it is not counted
};

/// The layers to compute, equal ones together: nests of a network (whatever they come from), equations, or layers of a
/// file. @throws Error (input).
std::vector<AccelLayer> layers_of(const AccelInput& input);

/// The nests of a network with its kernels, equal ones together, or why one of them is no problem.
Outcome<std::vector<AccelLayer>> layers_of(const NetworkPlan& plan, std::int64_t batch, const OperandBits& bits,
                                           bool count_epilogues);

/// "8,4,8,32": input, weight, output, partial sums; one number stands for all but sums of 32 bits. @throws Error
/// (input).
OperandBits parse_bits(const std::string& text);

/// A preset, a TOML file or a YAML file of Timeloop, whose data spaces are those of `problem`. @throws Error (input).
Architecture architecture_of(const std::string& text, const Problem& problem);

/// One line as `parse_mapping` reads it, a file that holds one, or a YAML file of Timeloop. @throws Error (input).
Mapping mapping_of(const std::string& text, const std::string& architecture, const Problem& problem,
                   const Architecture& made);

/// A network of the zoo or a CSV file as convolutions, without what lies between them. @throws Error (input).
std::vector<ConvLayer> convolutions_of(const std::string& network, const std::string& file, const std::string& input,
                                       double width, const LayerBits& bits);

/// "optimal", "within 0.43 %", "nothing proved": what a gap means for people.
std::string how_sure(double gap);

/// "2 mm2", "none": a number in the quantity's unit, or infinity. @throws Error (input) that begins with `wrong`.
double parse_limit(const std::string& text, Quantity quantity, const std::string& wrong);
/// "500 mW", "none": milliwatts, or infinity. @throws Error (input).
double parse_power(const std::string& text);

/// `--bypass`: whether operands may pass levels by that could keep them.
void add_bypass_option(CLI::App& app, std::string& bypass);
/// What `--bypass` says. @throws Error (input).
void set_bypass(const std::string& bypass, SearchOptions& options);

/// What is asked of the searches and of their speed, beside what this machine gives: some half a minute. Rows with
/// times are about a machine at rest.
std::vector<CheckRow> check_searches();

/// The subcommands of `accel`, each in its own file.
void add_accel_eval(CLI::App& app, Action& action);
void add_accel_map(CLI::App& app, Action& action);
void add_accel_search(CLI::App& app, Action& action);
void add_accel_pipeline(CLI::App& app, Action& action);
void add_accel_check(CLI::App& app, Action& action);
void add_accel_compare(CLI::App& app, Action& action);
void add_accel_presets(CLI::App& app, Action& action);

}  // namespace kasimir
