// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_program.h"

#include "kasimir/base/error.h"
#include "kasimir/codegen/c_clock.h"
#include "kasimir/codegen/c_functions.h"
#include "kasimir/codegen/c_team.h"
#include "kasimir/codegen/c_training.h"
#include "kasimir/codegen/c_transfer.h"

#include <algorithm>

namespace kasimir {
namespace {

/// One nest with what its method found in it.
struct Planned {
  FlatNest flat;
  Method method;
  std::optional<Contraction> contraction;
  std::optional<WindowProduct> product;
  std::int64_t packed = -1;       ///< place of the packed operand: in P, or in W where it is an activation
  bool packed_once = false;       ///< in P
  std::int64_t scratch = -1;      ///< place in W
  std::int64_t scratch_size = 0;  ///< of one thread
  bool shared = false;            ///< all threads compute it together
  std::string packing_call = {};  ///< in C, where an activation is packed
  std::string call = {};          ///< in C
  [[nodiscard]] bool bytes() const { return contraction && contraction->bytes; }
};

class Generator {
 public:
  /// `pass` is the program's where it is one of training.
  Generator(const NestProgram& program, const std::vector<Method>& methods, const COptions& options,
            const TrainingPass* pass = nullptr)
      : program_(program), options_(options), pass_(pass) {
    KASIMIR_CHECK(methods.size() == program.run.size(), "{} methods for {} nests", methods.size(), program.run.size());
    KASIMIR_CHECK(!options.timed || options.threads == 1, "nests are timed on one thread, not {}", options.threads);
    result_.methods = methods;
    plan_layout();
    place_weights();
    for (std::size_t i = 0; i < program.run.size(); ++i) plan_nest(program.run[i], methods[i]);
    result_.prepared_size = prepared_ + slack;
    share_ = round_up(workspace_ + slack, 16);
    result_.workspace_size = copies() * share_;
    result_.threads = options.threads;
    if (pass_ != nullptr) return;
    result_.input_size = program.batch * per_image(program.input);
    result_.output_size = program.batch * per_image(program.output);
  }

  CProgram run() {
    if (pass_ == nullptr) result_.header = c_header(program_, options_, result_);
    write_source();
    return std::move(result_);
  }

 private:
  // Reads of a last partial vector may pass the end of what is stored.
  static constexpr std::int64_t slack = 64;

  /// Threads split the batch where it has enough runs of the last segment; otherwise they share every nest.
  [[nodiscard]] bool together() const {
    return options_.threads > 1 && program_.batch / program_.segments.back().batch < options_.threads;
  }
  /// Of the workspace.
  [[nodiscard]] int copies() const { return together() ? 1 : options_.threads; }

  [[nodiscard]] std::int64_t per_image(int tensor) const {
    const BoundTensor& of = program_.tensors[static_cast<std::size_t>(tensor)];
    return elements(of) / of.axes[0].extent;
  }

  void plan_layout() {
    std::vector<Overhang> more;
    for (std::size_t i = 0; i < program_.run.size(); ++i) {
      const auto* winograd = std::get_if<WinogradBlock>(&result_.methods[i]);
      if (winograd == nullptr) continue;
      const auto product = find_window_product(program_, program_.run[i]);
      KASIMIR_CHECK(product.has_value(), "nest {} is no product of 3 x 3 windows", program_.run[i].name);
      for (const Overhang& beyond : winograd_overhang(program_, program_.run[i], *product, winograd->m))
        more.push_back(beyond);
    }
    memory_ = pass_ != nullptr ? plan_memory(*pass_, more) : plan_memory(program_, more);
    workspace_ = memory_.size;
  }

  void place_weights() {
    place_q_.assign(program_.tensors.size(), -1);
    place_p_.assign(program_.tensors.size(), -1);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const BoundTensor& tensor = program_.tensors[t];
      if (tensor.role != Role::weight && tensor.role != Role::stat) continue;
      place_q_[t] = result_.weights_size;
      result_.weights.push_back({tensor.name, static_cast<int>(t), result_.weights_size, elements(tensor),
                                 packed_bits(memory_.layouts[t].element)});
      result_.weights_size += result_.weights.back().floats();
    }
    for (const Nest& nest : program_.prepare) {
      in_p(nest.out);
      for_each_read(nest, [&](const BoundRead& read) { unpack(read.tensor); });
    }
  }
  [[nodiscard]] int bits_of(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return !is_repacked(tensor) && place_q_[t] >= 0 ? packed_bits(memory_.layouts[t].element) : 0;
  }
  /// What reads floats of codes reads them in P.
  void unpack(int tensor) {
    if (bits_of(tensor) > 0) in_p(tensor);
  }
  /// A place in P, where reads of whole vectors may pass the end.
  std::int64_t in_p(int tensor) {
    std::int64_t& place = place_p_[static_cast<std::size_t>(tensor)];
    if (place < 0) place = take_p(elements(program_.tensors[static_cast<std::size_t>(tensor)]));
    return place;
  }
  std::int64_t take_p(std::int64_t size) {
    const std::int64_t place = prepared_;
    prepared_ += round_up(size, 16);
    return place;
  }
  std::int64_t take_w(std::int64_t size) {
    const std::int64_t place = workspace_;
    workspace_ += round_up(size, 16) + 16;
    return place;
  }

  void plan_nest(const Nest& nest, const Method& method) {
    Planned planned{flatten(program_, nest, memory_), method, {}, {}};
    int packed_node = -1;
    if (std::holds_alternative<RegisterBlock>(method)) {
      planned.contraction = find_contraction(planned.flat);
      KASIMIR_CHECK(planned.contraction.has_value(), "nest {} is no sum of products", nest.name);
      packed_node = planned.contraction->b;
      place_packed(planned, nest, packed_node, packed_size(planned.flat, *planned.contraction, options_.target));
    } else if (auto* winograd = std::get_if<WinogradBlock>(&planned.method)) {
      planned.product = find_window_product(program_, nest);
      if (together())
        *winograd = winograd_for_team(*winograd, nest, *planned.product, options_.target, options_.threads);
      packed_node = planned.product->b;
      place_packed(planned, nest, packed_node,
                   winograd_packed_size(nest, *planned.product, *winograd, options_.target));
      planned.scratch_size =
          round_up(winograd_scratch_size(nest, *planned.product, *winograd, options_.target), together() ? 16 : 1);
      planned.scratch = take_w(planned.scratch_size * (together() ? options_.threads : 1));
    }
    if (std::holds_alternative<UseLoops>(method)) repack(planned.flat);
    const auto keep = [&](const std::vector<std::optional<Access>>& accesses, int packed) {
      for (std::size_t i = 0; i < accesses.size(); ++i)
        if (accesses[i] && static_cast<int>(i) != packed && !is_repacked(accesses[i]->tensor) &&
            program_.known[static_cast<std::size_t>(accesses[i]->tensor)])
          in_p(accesses[i]->tensor);
    };
    keep(planned.flat.value, packed_node);
    keep(planned.flat.epilogue, -1);
    for (const FlatCopy& copy : planned.flat.also) keep(copy.value, -1);
    nests_.push_back(std::move(planned));
  }
  /// Weights that the nest would gather one by one get a copy in the order of its vectors.
  void repack(FlatNest& flat) {
    const auto [loop, of_result] = loop_over_vectors(flat, options_.target);
    if (!of_result) return;
    for (std::optional<Access>& access : flat.value) {
      if (!access || !program_.known[static_cast<std::size_t>(access->tensor)]) continue;
      auto copy = repacked_along(flat, *access, loop);
      if (!copy) continue;
      unpack(access->tensor);
      place_p_.push_back(take_p(copy->size));
      copy->to.tensor = static_cast<int>(place_p_.size()) - 1;
      access = copy->to;
      repacked_.push_back({*std::move(copy), flat.loops});
    }
  }
  /// Copies are numbered after the program's tensors.
  [[nodiscard]] bool is_repacked(int tensor) const {
    return static_cast<std::size_t>(tensor) >= program_.tensors.size();
  }
  void place_packed(Planned& planned, const Nest& nest, int node, std::int64_t size) {
    const auto& read = std::get<BoundRead>(nest.value[static_cast<std::size_t>(node)]);
    planned.packed_once = program_.known[static_cast<std::size_t>(read.tensor)];
    if (!planned.bytes()) unpack(read.tensor);
    planned.packed = planned.packed_once ? take_p(size) : take_w(size);
  }

  /// Where a tensor begins while a segment of so many images runs from image `first`.
  [[nodiscard]] std::string running(int tensor, std::int64_t images) const {
    const auto t = static_cast<std::size_t>(tensor);
    if (is_repacked(tensor) || program_.known[t]) return fmt::format("P + {}", place_p_[t]);
    if (const auto outside = pass_ != nullptr ? place_outside(*pass_, memory_, tensor) : std::nullopt) return *outside;
    const std::int64_t held = pass_ != nullptr ? 0 : program_.tensors[t].axes[0].extent;
    std::string at = fmt::format("W + {}", memory_.place[t]);
    if (memory_.layouts[t].element.bytes) at = fmt::format("(unsigned char *)({})", at);
    return held > images ? fmt::format("{} + first % {} * {}", at, held, memory_.layouts[t].strides[0]) : at;
  }
  /// Where a tensor begins while weights are prepared.
  [[nodiscard]] std::string preparing(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return !is_repacked(tensor) && place_q_[t] >= 0 && bits_of(tensor) == 0 ? fmt::format("Q + {}", place_q_[t])
                                                                            : fmt::format("P + {}", place_p_[t]);
  }
  [[nodiscard]] CArguments arguments_of(const PlaceOf& outside, std::set<int> written) const {
    return {outside, std::move(written), [this](int tensor) {
              return !is_repacked(tensor) && memory_.layouts[static_cast<std::size_t>(tensor)].element.bytes;
            }};
  }

  void write_source() {
    CText text;
    if (options_.timed) text.line("#define _POSIX_C_SOURCE 200809L");
    if (pass_ == nullptr) text.line("#include \"{}.h\"", options_.name);
    text.line("{}", c_includes());
    if (together()) text.line("{}", c_team_prelude());
    text.line("#define KSM_ENTRY");
    result_.body_at = text.str().size();
    result_.meets = together();
    result_.symbols = c_prelude_names();
    text.line("{}", c_prelude(options_.target));
    if (!program_.codes.empty()) {
      text.line("{}", c_codes_prelude(options_.target));
      for (std::string& name : c_codes_prelude_names()) result_.symbols.push_back(std::move(name));
    }
    if (options_.timed) write_clock(text, options_.name, program_.run.size());
    if (pass_ != nullptr) {
      write_step(text);
    } else {
      for (std::size_t s = 0; s < program_.segments.size(); ++s) write_segment(text, s);
    }
    write_prepare(text);
    text.open("KSM_ENTRY void {}_init(float *W)", options_.name);
    text.line("memset(W, 0, sizeof(float) * {});", result_.workspace_size);
    for (int copy = 0; copy < copies(); ++copy)
      for (const MemoryPlan::Fill& fill : memory_.fills)
        text.line("memset(W + {}, {}, sizeof(float) * {});", fill.place + copy * share_, fill.byte, fill.floats);
    text.close();
    if (pass_ != nullptr) {
      result_.source = text.str();
      return;
    }
    text.open("KSM_ENTRY void {}_run(const float *P, float *W, const float *in, float *out)", options_.name);
    write_run(text);
    text.close();
    for (const std::string& function : functions_.names()) result_.symbols.push_back(function);
    for (const char* function : {"prepare", "init", "run"})
      result_.symbols.push_back(fmt::format("{}_{}", options_.name, function));
    result_.source = text.str();
  }
  /// The text of a function's head, whose name is noted.
  std::string defines(std::string name) {
    result_.symbols.push_back(name);
    return name;
  }

  void write_run(CText& text) {
    const std::int64_t step = program_.segments.back().batch;
    const std::size_t last = program_.segments.size() - 1;
    if (together()) {
      text.line("ksm_gate gate = {{0, 0}};");
      text.line("#ifdef _OPENMP");
      text.line("#pragma omp parallel num_threads({})", options_.threads);
      text.line("#endif");
      text.open("");
      text.line("#ifdef _OPENMP");
      text.line("const int thread = omp_get_thread_num(), threads = omp_get_num_threads();");
      text.line("#else");
      text.line("const int thread = 0, threads = 1;");
      text.line("#endif");
      text.open("for (long first = 0; first < {}; first += {})", program_.batch, step);
      text.line("s{}(P, W, in, out, first, &gate, thread, threads);", last);
      text.close();
    } else if (options_.threads > 1) {
      text.line("#pragma omp parallel for num_threads({}) schedule(static, 1)", options_.threads);
      text.open("for (long thread = 0; thread < {}; ++thread)", options_.threads);
      const std::int64_t runs = program_.batch / step;
      text.line("for (long i = {0} * thread / {1}; i < {0} * (thread + 1) / {1}; ++i)", runs, options_.threads);
      text.line("  s{}(P, W + thread * {}, in, out, i * {});", last, share_, step);
    } else {
      text.open("for (long first = 0; first < {}; first += {})", program_.batch, step);
      text.line("s{}(P, W, in, out, first);", last);
    }
    text.close();
  }

  /// A training pass: arguments come in, all nests run, arguments go out.
  void write_step(CText& text) {
    for (std::size_t i = 0; i < program_.run.size(); ++i) write_nest(text, i, program_.batch);
    text.open("void {}_step(const float *P, float *W, const float *const *in, float *const *out, long parts)",
              options_.name);
    text.line("(void)P, (void)in, (void)out;");
    text.open("for (long part = 0; part < parts; ++part)");
    for (std::size_t i = 0; i < pass_->in.size(); ++i) write_argument(text, *pass_, memory_, i, true);
    for (std::size_t i = 0; i < program_.run.size(); ++i) write_call(text, i);
    for (std::size_t i = 0; i < pass_->out.size(); ++i) write_argument(text, *pass_, memory_, i, false);
    text.close();
    text.close();
  }

  /// A segment runs those before it until it has its images. Threads that share nests have met where it begins, and
  /// meet where it ends.
  void write_segment(CText& text, std::size_t s) {
    const Segment& segment = program_.segments[s];
    for (std::size_t i = segment.begin; i < segment.end; ++i) write_nest(text, i, segment.batch);
    text.open("static void {}(const float *P, float *W, const float *in, float *out, long first{})",
              defines(fmt::format("s{}", s)), together() ? ", ksm_gate *gate, int thread, int threads" : "");
    text.line("(void)in, (void)out, (void)P, (void)first;");
    alone_ = false;
    if (s == 0) {
      write_transfer(text, program_.input, options_.input, segment.batch, true);
    } else {
      text.line("for (long i = 0; i < {}; i += {}) s{}(P, W, in, out, first + i{});", segment.batch,
                program_.segments[s - 1].batch, s - 1, together() ? ", gate, thread, threads" : "");
    }
    for (std::size_t i = segment.begin; i < segment.end; ++i) write_call(text, i);
    if (s + 1 == program_.segments.size()) write_transfer(text, program_.output, options_.output, segment.batch, false);
    if (alone_) text.line("ksm_wait(gate, threads);");
    text.close();
  }

  /// What follows is done by all threads, each its share, or by the first one alone.
  void begin_step(CText& text, bool shared) {
    if (!together()) return;
    if (shared && alone_) text.line("ksm_wait(gate, threads);");
    alone_ = !shared;
    if (!shared) text.open("if (thread == 0)");
  }
  void end_step(CText& text, bool shared) {
    if (!together()) return;
    if (shared) {
      text.line("ksm_wait(gate, threads);");
    } else {
      text.close();
    }
  }

  void write_call(CText& text, std::size_t i) {
    const Planned& of = nests_[i];
    text.line("/* {}: {} */", str(of.method), str(program_, *of.flat.nest));
    if (together() && packs(of)) {
      begin_step(text, false);
      text.line("{}", of.packing_call);
      end_step(text, false);
    }
    begin_step(text, of.shared);
    if (options_.timed) text.line("ksm_begin();");
    if (!together() && packs(of)) text.line("{}", of.packing_call);
    text.line("{}", of.call);
    if (options_.timed) text.line("{}_times[{}] += ksm_end();", options_.name, i);
    end_step(text, of.shared);
  }

  /// An activation is packed before the product.
  [[nodiscard]] static bool packs(const Planned& of) { return of.contraction && !of.packed_once; }

  /// On one thread.
  [[nodiscard]] double seconds(const Planned& of) const {
    if (const auto* winograd = std::get_if<WinogradBlock>(&of.method))
      return estimated_seconds(*of.flat.nest, *of.product, winograd->m);
    const auto points = static_cast<double>(of.flat.nest->points());
    if (!of.contraction) return points / rates::loop_steps;
    return direct_seconds(points, static_cast<double>(packed_size(of.flat, *of.contraction, options_.target)));
  }

  /// The operand that is packed, in the nest and where it is packed.
  [[nodiscard]] static CArgument packed_argument(const Planned& of, bool written) {
    const std::string at = fmt::format("{} + {}", of.packed_once ? "P" : "W", of.packed);
    if (of.bytes())
      return {written ? "int *" : "const int *", "K", fmt::format("({}int *)({})", written ? "" : "const ", at)};
    return {written ? "float *restrict " : "const float *restrict ", "K", at};
  }

  /// Packs the operand: what runs with the weights, or before the product where it is an activation.
  std::string write_packing_call(CText& text, const Planned& of, const PlaceOf& outside) {
    const PlaceOf given = [this](int tensor) {
      return fmt::format("Q + {}", place_q_[static_cast<std::size_t>(tensor)]);
    };
    CArguments arguments = arguments_of(of.bytes() ? given : outside, {});
    arguments.add(packed_argument(of, true));
    CText body(1);
    const auto* block = std::get_if<RegisterBlock>(&of.method);
    if (of.bytes()) {
      write_byte_packing(body, of.flat, *of.contraction, *block, options_.target, arguments.places(), "K");
    } else if (block != nullptr) {
      write_packing(body, of.flat, *of.contraction, *block, options_.target, arguments.places(), "K");
    } else if (const auto* winograd = std::get_if<WinogradBlock>(&of.method)) {
      write_winograd_packing(body, program_, *of.flat.nest, memory_, *of.product, *winograd, options_.target,
                             arguments.places(), "K");
    }
    return functions_.call(text, 'p', arguments.all(), body.str());
  }

  void write_nest(CText& text, std::size_t i, std::int64_t images) {
    Planned& of = nests_[i];
    const PlaceOf outside = [this, images](int tensor) { return running(tensor, images); };
    const int threads = together() && seconds(of) > options_.shortest_shared_seconds ? options_.threads : 1;
    if (packs(of)) of.packing_call = write_packing_call(text, of, outside);
    std::set<int> outs;
    for_each_out(*of.flat.nest, [&](int tensor) { outs.insert(tensor); });
    CArguments arguments = arguments_of(outside, outs);
    const PlaceOf place = arguments.places();
    CText body(1);
    if (const auto* block = std::get_if<RegisterBlock>(&of.method)) {
      arguments.add(packed_argument(of, false));
      of.shared = write_contraction(body, of.flat, *of.contraction, *block, options_.target, place, "K", threads);
    } else if (const auto* winograd = std::get_if<WinogradBlock>(&of.method)) {
      arguments.add(packed_argument(of, false));
      arguments.add({"float *restrict ", "S",
                     fmt::format("W + {}{}", of.scratch,
                                 together() ? fmt::format(" + (long)thread * {}", of.scratch_size) : "")});
      of.shared = write_winograd(body, program_, *of.flat.nest, memory_, *of.product, *winograd, options_.target, place,
                                 "K", "S", threads);
    } else {
      of.shared = write_loops(body, of.flat, options_.target, place, threads);
    }
    if (of.shared) {
      arguments.add({"int ", "thread", "thread"});
      arguments.add({"int ", "threads", "threads"});
    }
    of.call = functions_.call(text, 'n', arguments.all(), body.str());
  }

  void write_prepare(CText& text) {
    const PlaceOf outside = [this](int tensor) { return preparing(tensor); };
    std::vector<std::string> steps;
    for (const WeightSlot& slot : result_.weights)
      if (const auto place = place_p_[static_cast<std::size_t>(slot.tensor)]; slot.bits > 0 && place >= 0)
        steps.push_back(fmt::format("unpack_codes(P + {}, Q + {}, {}, {});", place, slot.offset, slot.size, slot.bits));
    for (const Nest& nest : program_.prepare) {
      CArguments arguments = arguments_of(outside, {nest.out});
      CText body(1);
      write_scalar_loops(body, flatten(program_, nest, memory_), arguments.places());
      steps.push_back(fmt::format("/* {} */", str(program_, nest)));
      steps.push_back(functions_.call(text, 'w', arguments.all(), body.str()));
    }
    for (const auto& [copy, loops] : repacked_) {
      CArguments arguments = arguments_of(outside, {copy.to.tensor});
      CText body(1);
      write_repacking(body, loops, copy, arguments.places());
      steps.push_back(functions_.call(text, 'r', arguments.all(), body.str()));
    }
    for (std::size_t t = 0; t < program_.tensors.size(); ++t)
      if (place_q_[t] >= 0 && place_p_[t] >= 0 && bits_of(static_cast<int>(t)) == 0)
        steps.push_back(fmt::format("memcpy(P + {}, Q + {}, sizeof(float) * {});", place_p_[t], place_q_[t],
                                    elements(program_.tensors[t])));
    for (const Planned& of : nests_)
      if (of.packed_once) steps.push_back(write_packing_call(text, of, outside));
    text.open("KSM_ENTRY void {}_prepare(const float *Q, float *P)", options_.name);
    text.line("(void)Q;");
    text.line("memset(P, 0, sizeof(float) * {});", result_.prepared_size);
    for (const std::string& step : steps) text.line("{}", step);
    text.close();
  }

  /// Images between the interface's order and the workspace.
  void write_transfer(CText& text, int tensor, ImageLayout layout, std::int64_t images, bool into) {
    const auto t = static_cast<std::size_t>(tensor);
    const auto& axes = program_.tensors[t].axes;
    const std::int64_t elements = images * axes[1].extent * axes[2].extent * axes[3].extent;
    const bool shared =
        together() && axes[2].extent > 1 &&
        static_cast<double>(elements) > options_.shortest_shared_seconds * rates::transfer_floats;
    begin_step(text, shared);
    write_images(text, program_.tensors[t], memory_.layouts[t], memory_.place[t], layout, images, into, shared);
    end_step(text, shared);
  }

  const NestProgram& program_;
  const COptions& options_;
  const TrainingPass* pass_;
  CProgram result_;
  MemoryPlan memory_;
  std::vector<Planned> nests_;
  std::vector<std::int64_t> place_q_;  ///< per tensor: in the caller's weights; -1
  std::vector<std::int64_t> place_p_;  ///< per tensor and copy: in the prepared weights; -1
  std::vector<std::pair<Repacked, std::vector<BoundIter>>> repacked_;  ///< with the loops of its nest
  std::int64_t prepared_ = 0;
  std::int64_t workspace_ = 0;
  std::int64_t share_ = 0;  ///< of the workspace, for one thread
  CFunctions functions_;
  bool alone_ = false;  ///< while text is written: the first thread was alone since the last gate
};

}  // namespace

CProgram generate_c(const NestProgram& program, const std::vector<Method>& methods, const COptions& options) {
  return Generator(program, methods, options).run();
}

CProgram generate_c(const NestProgram& program, const COptions& options) {
  return generate_c(program, default_methods(program, options.target), options);
}

CProgram generate_training_c(const TrainingPass& pass, const std::vector<Method>& methods, const COptions& options) {
  return Generator(pass.program, methods, options, &pass).run();
}

}  // namespace kasimir
