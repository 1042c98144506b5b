// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/cosearch_compare.h"
#include "kasimir/cosearch_headroom.h"
#include "kasimir/options.h"
#include "kasimir/stop.h"

#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/network/quantization_file.h"
#include "kasimir/report/cosearch_page.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

struct CosearchCommand {
  CosearchSpec spec;
  std::string folder;
  std::string bits = "4,6,8";
  bool no_flip = false;
  bool json = false;
  bool no_headroom = false;
  bool compare = false;
  CompareWishes wishes;
};

/// The state of a run on disk: the search's own beside the supernet's, which it names. A new pair is whole before the
/// old one goes.
class RunFolder {
 public:
  RunFolder(fs::path folder, const CosearchSpec& spec) : folder_(std::move(folder)), spec_(spec.to_json()) {
    make_folder(folder_);
    const auto path = folder_ / "spec.json";
    if (!fs::exists(path)) {
      write_file(path, spec_.dump(1) + "\n");
      return;
    }
    const auto before = nlohmann::ordered_json::parse(read_file(path), nullptr, false);
    for (const auto& [key, value] : spec_.items())
      if (!before.is_object() || !before.contains(key) || before[key] != value)
        throw input_error("{} holds a search with other options: {} was {}, now {}", folder_.string(), key,
                          before.is_object() && before.contains(key) ? before[key].dump() : "not there", value.dump())
            .note("give the same options to go on, or another folder");
    for (const auto& [key, value] : before.items())
      if (!spec_.contains(key))
        throw input_error("{} holds a search with other options: {} was {}, now not given", folder_.string(), key,
                          value.dump())
            .note("give the same options to go on, or another folder");
  }

  [[nodiscard]] fs::path file(const std::string& name) const { return folder_ / name; }

  void save(const CosearchState& state, const ChoiceSpace& space, Supernet& supernet) {
    const std::string name = fmt::format("supernet-{}.pt", state.weight_steps);
    supernet.save(folder_ / name);
    nlohmann::ordered_json record;
    record["supernet"] = name;
    record["state"] = nlohmann::ordered_json::parse(state_text(state, space));
    write_file(folder_ / "state.json", record.dump() + "\n");
    if (!last_.empty() && last_ != name) fs::remove(folder_ / last_);
    last_ = name;
  }

  std::optional<CosearchState> load(const ChoiceSpace& space, Supernet& supernet) {
    const auto path = folder_ / "state.json";
    if (!fs::exists(path)) return std::nullopt;
    const auto record = nlohmann::ordered_json::parse(read_file(path), nullptr, false);
    if (!record.is_object() || !record.contains("supernet") || !record.contains("state"))
      throw input_error("{}: no state of a joint search", path.string());
    last_ = record["supernet"].get<std::string>();
    supernet.load(folder_ / last_);
    return parse_state(record["state"].dump(), space);
  }

 private:
  fs::path folder_;
  nlohmann::ordered_json spec_;
  std::string last_;
};

/// Lines now and then, and a line that moves on a terminal.
class ProgressLines {
 public:
  void operator()(const CosearchProgress& p) {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:100}\r{} {} of {}", "", p.phase, p.step, p.steps);
    if (p.seconds < next_ && p.step != p.steps) return;
    next_ = p.seconds + 20;
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:100}\r", "");
    fmt::print(stderr, "{:>8}  {} {} of {}: loss {:.3f}", duration_text(p.seconds), p.phase, p.step, p.steps, p.loss);
    if (p.mean_cost > 0)
      fmt::print(stderr, ", cost by the goal {:.2f}, of the likeliest network {:.2f}, entropy {:.2f}", p.mean_cost,
                 p.derived_cost, p.entropy);
    fmt::print(stderr, "\n");
  }

 private:
  double next_ = 0;
};

struct Trained {
  Finalist finalist;
  FinalScore score;
  std::string folder;
  std::optional<double> measured = {};  ///< cost of the whole network, where the target is this machine
};

class JointSearch {
 public:
  explicit JointSearch(const CosearchCommand& options)
      : options_(options),
        subject_(make_subject(options.spec, options.folder)),
        search_(cosearch_options(options.spec, subject_)),
        folder_(options.folder, options.spec) {}

  int run() {
    introduce();
    const auto supernet = std::make_shared<Supernet>(subject_.space, subject_.data.train, subject_.parts,
                                                     supernet_options(options_.spec));
    search_.save_every = 50;
    search_.save = [&](const CosearchState& state) { folder_.save(state, subject_.choices, *supernet); };
    search_.progress = ProgressLines();
    search_.should_stop = [this] { return stop_.load() != study::go_on; };
    auto before = folder_.load(subject_.choices, *supernet);
    if (before)
      fmt::print(stderr, "goes on after {} weight steps and {} choice steps\n", before->weight_steps,
                 before->choice_steps);
    const ChoiceTrainer trainer = supernet_trainer(supernet);
    search_.warmed_up = [&] { return options_.no_headroom || look_for_headroom(trainer); };
    const CosearchResult result = cosearch(trainer, *subject_.hardware, search_, std::move(before));
    folder_.save(result.state, subject_.choices, *supernet);
    if (!result.finished) {
      fmt::print(stderr, "stopped; the same command goes on\n");
      return 130;
    }
    return finish(result, *supernet);
  }

 private:
  void introduce() const {
    if (options_.json) return;
    fmt::print("{}: {} blocks, 10^{:.1f} networks with bits {}\n", options_.spec.space.name,
               subject_.choices.blocks.size(), subject_.choices.log10_size(), fmt::join(subject_.choices.bits, ", "));
    fmt::print("reference, first operators at the widest bits: {}\ngoal: {}\n",
               subject_.cost_text(subject_.reference_cost), subject_.cost_text(subject_.goal));
    if (subject_.measure)
      fmt::print("the reference as a whole, measured: {}\n", subject_.cost_text(subject_.measure(subject_.reference)));
    std::fflush(stdout);
  }

  /// Prints it before the first choice step. False: stopped.
  bool look_for_headroom(const ChoiceTrainer& trainer) {
    headroom_ = find_headroom(subject_, trainer, headroom_file(), [this] { return stop_.load() == study::go_on; });
    if (!headroom_) return false;
    if (options_.json) return true;
    fmt::print("\nheadroom of a joint search, on errors that the warmed-up weights give:\n{}\n", str(*headroom_));
    std::fflush(stdout);
    return true;
  }

  [[nodiscard]] fs::path headroom_file() const { return folder_.file("headroom.json"); }

  int finish(const CosearchResult& result, Supernet& supernet) {
    // A run that goes on behind the warm-up has it in its file.
    if (!headroom_ && fs::exists(headroom_file())) headroom_ = find_headroom(subject_, {}, headroom_file(), {});
    if (result.finalists.empty())
      throw unsolved_error("no network of the space meets the goal {}", subject_.cost_text(subject_.goal))
          .note(fmt::format("the likeliest one costs {}", subject_.cost_text(result.likeliest_cost)))
          .note("allow more, or offer cheaper operators or fewer bits");
    std::vector<Trained> trained;
    for (const Finalist& finalist : result.finalists) {
      if (std::ssize(trained) == options_.spec.finalists) break;
      trained.push_back({finalist, {}, fmt::format("finalist-{}", trained.size() + 1)});
      if (!train(trained.back(), supernet)) return 130;
    }
    report(result, trained);
    return 0;
  }

  /// False: stopped.
  bool train(Trained& one, Supernet& supernet) {
    const DerivedNetwork derived = supernet.derive_network(supernet_design(one.finalist.design));
    const auto folder = folder_.file(one.folder);
    make_folder(folder);
    TrainObserver watch;
    watch.epoch = [&](const EpochRow& row) {
      fmt::print(stderr, "{}: epoch {} of {}, validation accuracy {:.4f}\n", one.folder, row.epoch,
                 options_.spec.final_epochs, row.validation_accuracy);
    };
    watch.should_stop = [this] { return stop_.load() != study::go_on; };
    one.score = train_finalist(options_.spec, subject_, derived, folder / "checkpoint", watch);
    if (!one.score.model) {
      fmt::print(stderr, "stopped; the same command goes on\n");
      return false;
    }
    one.score.model->save(folder / "network.pt");
    write_file(folder / "quantization.json", quantization_text(one.score.model->quantization()));
    write_file(folder / "network.txt", derived.made.network.str());
    write_file(folder / "accelerator.txt", subject_.hardware->optimise(one.finalist.design).text + "\n");
    for (const TargetFile& file : subject_.hardware->files(one.finalist.design)) {
      make_folder((folder / file.name).parent_path());
      write_file(folder / file.name, file.text);
    }
    if (subject_.measure) one.measured = subject_.measure(one.finalist.design);
    return true;
  }

  void report(const CosearchResult& result, const std::vector<Trained>& trained) {
    nlohmann::ordered_json json;
    json["spec"] = options_.spec.to_json();
    json["unit"] = subject_.hardware->unit();
    json["reference_cost"] = subject_.reference_cost;
    json["goal"] = subject_.goal;
    json["decoded_exactly"] = result.decoded_exactly;
    json["accelerator_share"] = result.accelerator_share();
    Table table({{"finalist", "", Table::Align::left},
                 {"cost", "of the goal"},
                 {"validation", "%, shared"},
                 {"validation", "%"},
                 {"test", "%"},
                 {"operators and bits", "", Table::Align::left}});
    for (const Trained& one : trained) {
      const std::string design = str(one.finalist.design, subject_.choices);
      json["finalists"].push_back({{"folder", one.folder},
                                   {"design", design},
                                   {"cost", one.finalist.cost},
                                   {"shared_validation", one.finalist.score},
                                   {"validation", one.score.validation.accuracy},
                                   {"test", one.score.test.accuracy}});
      if (one.measured) json["finalists"].back()["measured"] = *one.measured;
      table.row({one.folder, fmt::format("{:.3f}", one.finalist.cost / subject_.goal),
                 fmt::format("{:.1f}", 100 * one.finalist.score),
                 fmt::format("{:.1f}", 100 * one.score.validation.accuracy),
                 fmt::format("{:.1f}", 100 * one.score.test.accuracy), design});
    }
    for (const ArchiveEntry& entry : result.state.archive.front())
      json["front"].push_back(
          {{"design", str(entry.design, subject_.choices)}, {"score", entry.score}, {"cost", entry.cost}});
    if (headroom_) json["headroom"] = to_json(*headroom_, subject_.choices);
    write_file(folder_.file("result.json"), json.dump(1) + "\n");
    report::write_cosearch_page(page(result, trained), folder_.file("report.html"));
    if (options_.json) {
      fmt::print("{}\n", json.dump());
      return;
    }
    for (const Trained& one : trained)
      if (one.measured)
        fmt::print("{}: {} by the table, {} measured as a whole\n", one.folder, subject_.cost_text(one.finalist.cost),
                   subject_.cost_text(*one.measured));
    fmt::print("{}\nthe accelerator took {:.1f} % of the search's time\nwrote {} and {}\n", table.str(),
               100 * result.accelerator_share(), folder_.file("result.json").string(),
               folder_.file("report.html").string());
  }

  report::CosearchPage page(const CosearchResult& result, const std::vector<Trained>& trained) {
    report::CosearchPage page;
    page.title = fmt::format("{} on {}", options_.spec.space.name, options_.spec.target);
    page.command = own_command();
    page.program = "kasimir " KASIMIR_VERSION;
    page.unit = subject_.hardware->unit();
    if (subject_.clock_hz > 0) page.clock_hz = subject_.clock_hz;
    page.goal = subject_.goal;
    page.reference_cost = subject_.reference_cost;
    page.log10_networks = subject_.choices.log10_size();
    page.accelerator_share = result.accelerator_share();
    for (const Trained& one : trained) page.finalists.push_back(finalist_of(one));
    std::ranges::stable_sort(page.finalists, std::ranges::greater(), &report::CosearchFinalist::validation);
    for (const ArchiveEntry& entry : result.state.archive.entries())
      page.points.push_back({entry.cost, entry.score, str(entry.design, subject_.choices)});
    add_headroom(page);
    const nlohmann::ordered_json asked = options_.spec.to_json();
    for (const auto& [key, value] : asked.items())
      page.asked.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    return page;
  }

  void add_headroom(report::CosearchPage& page) const {
    if (!headroom_ || !headroom_->found) return;
    page.headroom.push_back({headroom_->exact ? "joint (exact)" : "joint (best found)", headroom_->error, 0});
    for (const ChosenInTurn& way : headroom_->ways)
      page.headroom.push_back({way.way, way.found ? std::optional(way.error) : std::nullopt, way.excess});
  }

  report::CosearchFinalist finalist_of(const Trained& one) {
    const Accelerator accelerator = subject_.hardware->optimise(one.finalist.design);
    report::CosearchFinalist made{one.folder,
                                  one.finalist.cost,
                                  one.finalist.score,
                                  one.score.validation.accuracy,
                                  one.score.test.accuracy,
                                  {},
                                  accelerator.loads.parts,
                                  accelerator.loads.base,
                                  accelerator.text};
    if (one.measured)
      made.accelerator += fmt::format("\nthe whole network, measured: {}", subject_.cost_text(*one.measured));
    for (std::size_t b = 0; b < one.finalist.design.size(); ++b) {
      const BlockChoice& choice = one.finalist.design[b];
      const BlockSpace& block = subject_.choices.blocks[b];
      report::CosearchBlock row{block.name, block.ops[choice.op], subject_.choices.bits[choice.bits],
                                std::vector<double>(made.parts.size(), 0)};
      for (const PartLoad& load : accelerator.loads.loads[b][choice.op][choice.bits]) row.loads[load.part] += load.load;
      made.blocks.push_back(std::move(row));
    }
    return made;
  }

  const CosearchCommand& options_;
  // In this order: what is asked for must make sense before anything is written.
  CosearchSubject subject_;
  CosearchOptions search_;
  RunFolder folder_;
  std::optional<Headroom> headroom_;
  const std::atomic<int>& stop_ = catch_interrupts();
};

std::vector<int> widths_of(const std::string& text) {
  std::vector<int> widths;
  for (const std::string& word : split(text, ',')) {
    const auto width = parse_integer(word);
    if (!width) throw input_error("--bits {}: needed is a list such as 4,6,8", text);
    require_legal(IntegerFormat{static_cast<int>(*width)}, "--bits");
    widths.push_back(static_cast<int>(*width));
  }
  return widths;
}

}  // namespace

void add_cosearch(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("cosearch", "searches operators, bits and an accelerator together");
  auto options = std::make_shared<CosearchCommand>();
  CosearchSpec& spec = options->spec;
  command->add_option("folder", options->folder, "of the results; the same command goes on there")->required();
  command->add_option("--space", spec.space.name, "residual, or FBNet's: tiny, small, cifar, imagenet")
      ->capture_default_str();
  command
      ->add_option("--operators", spec.space.operators,
                   "what blocks choose from: names, files of kernels, study:FILE for a study's finalists")
      ->delimiter(',');
  command->add_option("--widths", spec.space.widths, "of the residual space: channels of its stages")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--blocks", spec.space.blocks, "of the residual space: residual blocks of a stage")
      ->capture_default_str();
  command->add_option("--bits", options->bits, "what blocks choose from")->capture_default_str();
  command->add_option("--edge-bits", spec.edge_bits, "of what is in no block")->capture_default_str();
  command->add_option("--data", spec.data, "as for `kasimir search`")->capture_default_str();
  add_data_options(*command, spec.reading);
  command->add_option("--train-limit", spec.train_limit, "images to train on at most; 0: all");
  command
      ->add_option(
          "--target", spec.target,
          "a board (zc706, zcu104, ultra96), an architecture with what counts (gemmini:edp), cpu (this machine, "
          "measured), or table:FILE")
      ->capture_default_str();
  command->add_option("--goal", spec.goal, "share=N (of the reference's cost), cost=N or fps=N")->capture_default_str();
  command->add_option("--mode", spec.mode, "how choices are sampled: heterogeneous, hard, soft, proxy (Auto-NBA's)")
      ->capture_default_str();
  command->add_option("--form", spec.form,
                      "how costs enter: smooth_max, duals, sum, original; default: what suits the hardware");
  command->add_option("--warmup", spec.warmup_steps, "steps of the weights alone")->capture_default_str();
  command->add_option("--steps", spec.choice_steps, "steps of the choices, each with one of the weights")
      ->capture_default_str();
  command
      ->add_option("--optimise-every", spec.optimise_every,
                   "choice steps between optimisations of the accelerator; 0: it stays as for the reference")
      ->capture_default_str();
  command->add_option("--batch", spec.batch, "images of a step")->capture_default_str();
  command->add_option("--rate", spec.learning_rate, "learning rate of the shared weights")->capture_default_str();
  command->add_option("--final-rate", spec.final_rate, "that of the finalists' training")->capture_default_str();
  command->add_option("--threads", spec.threads, "of everything; more are slow where anything else runs")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--finalists", spec.finalists, "networks that are trained at the end")->capture_default_str();
  command->add_option("--final-epochs", spec.final_epochs, "of their training")->capture_default_str();
  command->add_flag("--no-flip", options->no_flip, "never mirror images: digits and letters");
  command->add_option("--seed", spec.seed, "of everything")->capture_default_str();
  command->add_flag("--no-headroom", options->no_headroom,
                    "skip what is printed after the warm-up, which takes a validation for each choice");
  command->add_flag("--compare", options->compare,
                    "run other ways to search too, at the same budget, and train the finalists of all from random "
                    "weights");
  command->add_option("--methods", options->wishes.methods, "with --compare: which; default: all")->delimiter(',');
  command->add_option("--seeds", options->wishes.seeds, "with --compare")->delimiter(',')->capture_default_str();
  command->add_option("--goals", options->wishes.goals, "with --compare: several goals, whose results make one front")
      ->delimiter(',');
  command
      ->add_option("--reference-accuracy", options->wishes.reference_accuracy,
                   "with --compare: what counts for a hypervolume")
      ->capture_default_str();
  command->add_flag("--json", options->json, "the result as JSON");
  command->callback([options, &action] {
    action = [options] {
      options->spec.flip = !options->no_flip;
      options->spec.space.bits = widths_of(options->bits);
      if (options->compare) return compare_searches(options->spec, options->wishes, options->folder, options->json);
      return JointSearch(*options).run();
    };
  });
}

}  // namespace kasimir
