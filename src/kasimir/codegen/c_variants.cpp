// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_variants.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/c_team.h"

#include <algorithm>
#include <array>
#include <span>

namespace kasimir {
namespace {

/// What a variant asks of the processor, in the words of GCC and clang.
struct Features {
  CTarget target;
  std::string_view name;
  std::span<const std::string_view> needs;
  std::string_view also_gcc;  ///< of the pragma: GCC alone knows it
};

constexpr std::array<std::string_view, 7> vnni{"avx512f",    "avx512bw", "avx512dq", "avx512vl",
                                               "avx512vnni", "avx2",     "fma"};
constexpr std::array<std::string_view, 6> avx512{"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"};
constexpr std::array<std::string_view, 2> avx2{"avx2", "fma"};
constexpr std::array<Features, 4> all_levels{Features{{16, 32, true}, "vnni", vnni, ",prefer-vector-width=512"},
                                             Features{{16, 32, false}, "avx512", avx512, ",prefer-vector-width=512"},
                                             Features{{8, 16, false}, "avx2", avx2, ""},
                                             Features{{4, 16, false}, "plain", {}, ""}};

/// Without products of bytes the first is the same as the second.
std::span<const Features> levels_for(bool bytes) { return std::span(all_levels).subspan(bytes ? 0 : 1); }

std::string renamed(const std::string& symbol, const Features& level) {
  return fmt::format("{}_{}", symbol, level.name);
}

void write_variant(CText& text, const CProgram& variant, const Features& level) {
  const bool special = !level.needs.empty();
  if (special) {
    text.line("#if KSM_MOST_LANES >= {}", level.target.lanes);
    const std::string needs = fmt::format("{}", fmt::join(level.needs, ","));
    text.line("#if defined(__clang__)");
    text.line("#pragma clang attribute push(__attribute__((target(\"{}\"))), apply_to = function)", needs);
    text.line("#else");
    text.line("#pragma GCC push_options");
    text.line("#pragma GCC target(\"{}{}\")", needs, level.also_gcc);
    text.line("#endif");
    text.line("#define KSM_TARGETED /* clang's attribute defines none of its own words */");
  }
  for (const std::string& symbol : variant.symbols) text.line("#define {} {}", symbol, renamed(symbol, level));
  text.line("{}", variant.source.substr(variant.body_at));
  for (const std::string& symbol : variant.symbols) text.line("#undef {}", symbol);
  text.line("#undef LANES");
  if (!special) return;
  text.line("#undef KSM_TARGETED");
  text.line("#if defined(__clang__)");
  text.line("#pragma clang attribute pop");
  text.line("#else");
  text.line("#pragma GCC pop_options");
  text.line("#endif");
  text.line("#endif");
}

/// `void NAME_FUNCTION(PARAMETERS)` that calls the variant for this processor.
void write_choice(CText& text, std::span<const Features> levels, const std::string& function,
                  const std::string& parameters, const std::string& arguments) {
  text.open("void {}({})", function, parameters);
  for (const Features& level : levels) {
    if (level.needs.empty()) {
      text.line("{}({});", renamed(function, level), arguments);
      continue;
    }
    text.line("#if KSM_MOST_LANES >= {}", level.target.lanes);
    std::vector<std::string> tests;
    for (std::string_view need : level.needs) tests.push_back(fmt::format("__builtin_cpu_supports(\"{}\")", need));
    text.open("if ({})", fmt::join(tests, " && "));
    text.line("{}({});", renamed(function, level), arguments);
    text.line("return;");
    text.close();
    text.line("#endif");
  }
  text.close();
}

}  // namespace

std::vector<CTarget> portable_targets(bool bytes) {
  std::vector<CTarget> targets;
  for (const Features& level : levels_for(bytes)) targets.push_back(level.target);
  return targets;
}

CProgram one_for_all(const NestProgram& program, const std::vector<CProgram>& variants, const COptions& options) {
  const auto levels = levels_for(!program.codes.empty());
  KASIMIR_CHECK(variants.size() == levels.size(), "{} variants for {} levels", variants.size(), levels.size());
  CProgram all = variants.back();
  for (const CProgram& variant : variants) {
    KASIMIR_CHECK(variant.weights_size == all.weights_size, "variants take {} and {} weights", variant.weights_size,
                  all.weights_size);
    all.prepared_size = std::max(all.prepared_size, variant.prepared_size);
    all.workspace_size = std::max(all.workspace_size, variant.workspace_size);
    all.meets = all.meets || variant.meets;
  }
  all.header = c_header(program, options, all);
  CText text;
  text.line("#include \"{}.h\"", options.name);
  text.line("{}", c_includes());
  if (all.meets) text.line("{}", c_team_prelude());
  text.line("/* {}, with AVX2, and for all others; what to run is chosen",
            program.codes.empty() ? "Three times the same, for processors with AVX-512"
                                  : "Four times the same, for processors with AVX-512 and VNNI, with AVX-512");
  text.line("   where it runs. */");
  text.line("#if !defined(__x86_64__)");
  text.line("#undef KSM_MOST_LANES");
  text.line("#define KSM_MOST_LANES 4");
  text.line("#elif !defined(KSM_MOST_LANES)");
  text.line("#define KSM_MOST_LANES 16");
  text.line("#endif");
  text.line("#define KSM_ENTRY static");
  for (std::size_t i = 0; i < levels.size(); ++i) write_variant(text, variants[i], levels[i]);
  const std::string& name = options.name;
  write_choice(text, levels, name + "_prepare", "const float *weights, float *prepared", "weights, prepared");
  write_choice(text, levels, name + "_init", "float *workspace", "workspace");
  write_choice(text, levels, name + "_run",
               "const float *prepared, float *workspace, const float *input, float *output",
               "prepared, workspace, input, output");
  all.source = text.str();
  return all;
}

}  // namespace kasimir
