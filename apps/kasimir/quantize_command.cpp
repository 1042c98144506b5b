// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bit_plan.h"
#include "kasimir/command.h"
#include "kasimir/quantize_outliers.h"
#include "kasimir/stop.h"
#include "kasimir/subject.h"

#include "kasimir/base/files.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/network/fake_quantized_network.h"
#include "kasimir/network/integer_network.h"
#include "kasimir/network/norms.h"
#include "kasimir/network/quantization_file.h"
#include "kasimir/number/catalog.h"
#include "kasimir/train/quantize.h"

#include <unistd.h>

#include <algorithm>

namespace kasimir {
namespace {

constexpr int default_float_epochs = 10;
constexpr double default_float_rate = 0.1;

struct QuantizeCommand {
  std::vector<std::string> places;  ///< [STUDY] FOLDER
  SubjectOptions subject;
  std::string data = "fashion-mnist";
  BitWishes bits;
  std::string range = "mse";
  int images = 512;                 ///< to calibrate on and to estimate statistics from
  std::optional<int> float_epochs;  ///< none: those of random weights, 0 for a network that came with its weights
  std::optional<double> float_rate;
  int epochs = 0;  ///< of quantisation-aware training
  double rate = 0.01;
  int batch = 128;
  std::int64_t train_limit = 0;
  bool no_flip = false;
  bool sensitivity = false;
  bool control = false;
  double outliers = 0;  ///< share of calibration images
  int check = 100;      ///< images to compute in integers
  int check_exact = 1;  ///< of these in rounded double precision too
  bool has_network = false;
  bool json = false;
};

/// Everything that the steps of the command need.
class Quantizing {
 public:
  Quantizing(const QuantizeCommand& options, std::filesystem::path folder)
      : options_(options), folder_(std::move(folder)) {
    SubjectOptions of = options.subject;
    if (options.has_network) {
      LoadOptions load = of.reading.load_options();
      load.train_limit = options.train_limit;
      load.seed = of.common.seed;
      data_ = load_dataset(options.data, load);
      subject_ = subject_for_data(of, data_);
    } else {
      of.study = options.places[0];
      subject_ = subject_from_study(of);
      data_ = *std::move(subject_.data);
    }
    const double share = subject_.spec ? subject_.spec->validation : SearchSpec{}.validation;
    split_ = split_validation(data_.train, share, seed());
    calibration_ = stratified_subset(data_.train.labels, split_.train,
                                     std::min<std::int64_t>(options.images, std::ssize(split_.train)), seed());
    test_ = every_index(data_.test);
  }

  int run() {
    // Before anything that takes long.
    const BitPlan bits = bit_plan(weighted_places(subject_.plan), options_.bits);
    const RangeEstimator& estimator = range_estimator(options_.range);
    make_folder(folder_);
    if (!subject_.model && !find_float_model()) return 130;
    add_row("float32", *subject_.model);
    const Quantization quantization =
        calibrate(*subject_.model, subject_.plan, data_.train, calibration_, bits, estimator);
    if (options_.sensitivity) print_sensitivities(quantization);
    if (options_.outliers > 0) print_roundings(bits);
    const std::shared_ptr<Model> after = post_training(quantization);
    std::shared_ptr<Model> best = after;
    if (options_.epochs > 0) {
      if (options_.control && !add_control()) return 130;
      best = aware(quantization);
      if (!best) return 130;
    }
    write(*best, bits);
    return check(*best, bits) ? 0 : static_cast<int>(Fault::bug);
  }

 private:
  struct Row {
    std::string what;
    Score validation, test;
  };

  [[nodiscard]] std::uint64_t seed() const { return options_.subject.common.seed; }

  [[nodiscard]] Recipe recipe(int epochs, double rate) const {
    Recipe recipe;
    // As the original's: without a teacher. Nor an average over the few steps that are trained here.
    if (subject_.spec) recipe = subject_.spec->recipe(static_cast<int>(study::Rung::full), 0, 0, data_.train);
    recipe.average = 0;
    recipe.epochs = epochs;
    recipe.learning_rate = rate;
    recipe.batch = options_.batch;
    recipe.seed = seed();
    recipe.flip = !options_.no_flip;
    return recipe;
  }

  /// Trains with progress and a checkpoint beside the results; nothing if it was stopped.
  std::shared_ptr<Model> trained(const std::string& what, const Recipe& recipe, TrainStart start) {
    start.checkpoint = folder_ / (what + ".checkpoint");
    TrainObserver watch;
    watch.epoch = [&](const EpochRow& row) {
      fmt::print(stderr, "{}: epoch {} of {}, loss {:.4f}, validation accuracy {:.4f}, {}\n", what, row.epoch,
                 recipe.epochs, row.train_loss, row.validation_accuracy, duration_text(row.seconds));
    };
    watch.should_stop = [&] { return stop_.load() != study::go_on; };
    const TrainResult result = train(subject_.plan, data_, split_, recipe, watch, start);
    if (result.stopped) {
      fmt::print(stderr, "stopped; the same command goes on after the last finished epoch\n");
      return nullptr;
    }
    if (!result.ok()) throw unsolved_error("the training failed: {}", result.failed->str());
    subject_.notes.emplace_back(what + " recipe", recipe.str());
    return result.model;
  }

  /// Given weights, or a training that goes on from its checkpoint, which costs nothing where it is over.
  bool find_float_model() {
    if (!options_.subject.weights.empty()) {
      subject_.model = std::make_shared<Model>(subject_.plan);
      subject_.model->load(options_.subject.weights);
      return true;
    }
    const bool whole = starts_whole(subject_.plan);
    const int epochs = options_.float_epochs.value_or(whole ? 0 : default_float_epochs);
    if (epochs == 0) {
      if (!whole)
        throw input_error("--float-epochs 0, and not all layers of {} have weights", subject_.network->name())
            .note("train it for some epochs, or give the weights of a training by --weights");
      subject_.model = std::make_shared<Model>(subject_.plan);
      subject_.model->set_normalisation(options_.subject.reading.scale(data_.train, split_.train));
      subject_.notes.emplace_back("weights", "of " + options_.subject.common.network);
      return true;
    }
    TrainStart start;
    start.scale = options_.subject.reading.own_scale(data_.train.channels);
    const double rate = subject_.network->start() == nullptr ? default_float_rate : fine_tuning_rate;
    subject_.model = trained("float", recipe(epochs, options_.float_rate.value_or(rate)), start);
    if (!subject_.model) return false;
    subject_.model->save(folder_ / "float.pt");
    return true;
  }

  void add_row(const std::string& what, const Model& model) {
    rows_.push_back({what, model.evaluate(data_.train, split_.validation), model.evaluate(data_.test, test_)});
  }

  /// The float network's weights with these places quantised.
  std::shared_ptr<Model> copy_with(const Quantization& quantization) {
    auto copy = std::make_shared<Model>(subject_.plan);
    copy->set_tensors(subject_.model->tensors());
    copy->set_normalisation(subject_.model->normalisation());
    copy->set_quantization(quantization);
    return copy;
  }

  std::shared_ptr<Model> post_training(const Quantization& quantization) {
    auto plain = copy_with(quantization);
    add_row("after training", *plain);
    auto again = copy_with(quantization);
    reestimate_statistics(*again, data_.train, calibration_);
    add_row("after training, statistics estimated again", *again);
    return rows_.back().validation.accuracy > rows_[rows_.size() - 2].validation.accuracy ? again : plain;
  }

  /// What the same further training does without any rounding. False: stopped.
  bool add_control() {
    TrainStart start;
    start.weights = subject_.model.get();
    const auto model = trained("control", recipe(options_.epochs, options_.rate), start);
    if (model) add_row(fmt::format("float32, {} more epochs (control)", options_.epochs), *model);
    return model != nullptr;
  }

  void print_roundings(const BitPlan& bits) {
    const Outliers outliers{.images = options_.outliers};
    const auto scores = compare_roundings(*subject_.model, subject_.plan, data_, calibration_, bits, outliers);
    if (!options_.json) fmt::print("{}\n", str(scores, outliers));
    std::fflush(stdout);
    for (const RoundedScore& one : scores)
      roundings_.push_back(
          {{"quantizer", one.quantizer}, {"range", one.range}, {"clean", one.clean}, {"outliers", one.spoilt}});
  }

  std::shared_ptr<Model> aware(const Quantization& quantization) {
    TrainStart start;
    start.weights = subject_.model.get();
    start.quantization = quantization;
    auto model = trained("quantised", recipe(options_.epochs, options_.rate), start);
    if (model) add_row(fmt::format("quantisation-aware, {} epochs", options_.epochs), *model);
    return model;
  }

  void print_sensitivities(const Quantization& quantization) {
    const double whole = rows_.front().validation.accuracy;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto found =
        sensitivities(*subject_.model, quantization, data_.train, split_.validation, [&](std::size_t done) {
          if (terminal) fmt::print(stderr, "\r{} of {} places", done, quantization.size());
        });
    if (terminal) fmt::print(stderr, "\r{:30}\r", "");
    Table table({{"place, quantised alone", "", Table::Align::left},
                 {"bits", ""},
                 {"validation", "%"},
                 {"change", "points"},
                 {"loss", ""}});
    for (const Sensitivity& s : found) {
      const QuantizedPlace& place = quantization.at(s.weight);
      table.row({s.weight, bits_text({place.weight.bits, place.activation.bits}),
                 fmt::format("{:.2f}", 100 * s.score.accuracy),
                 fmt::format("{:+.2f}", 100 * (s.score.accuracy - whole)), fmt::format("{:.4f}", s.score.loss)});
    }
    fmt::print("{}\n", table.str());
  }

  /// Computes images in integers only, beside torch and beside the same rules in double precision.
  bool check(const Model& model, const BitPlan& bits) const {
    const std::vector<WeightedPlace> places = weighted_places(subject_.plan);
    if (options_.check == 0 || options_.json) return true;
    if (bits.size() < places.size()) {
      fmt::print("not computed in integers: {} places are in floating point\n", places.size() - bits.size());
      return true;
    }
    const std::int64_t count = std::min<std::int64_t>(options_.check, data_.test.size());
    const ImageSet images = select_images(data_.test, stratified_subset(data_.test.labels, count, seed()));
    const std::vector<float> pixels = planar_images(model, images);
    const auto scores = model.predict(images, every_index(images));
    const std::vector<NamedTensor> tensors = model.tensors();
    const Quantization quantization = model.quantization();
    const IntegerNetwork integers(subject_.plan, tensors, quantization);
    const FakeQuantizedNetwork rounded(subject_.plan, tensors, quantization);
    std::int64_t same_class = 0;
    std::int64_t right = 0;
    std::int64_t exact = 0;
    const std::int64_t compared = std::min<std::int64_t>(options_.check_exact, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto image = std::span(pixels).subspan(at * images.image_bytes(), images.image_bytes());
      const std::vector<std::int64_t> whole = integers.scores(image);
      const auto found = std::ranges::max_element(whole) - whole.begin();
      same_class += found == std::ranges::max_element(scores[at]) - scores[at].begin() ? 1 : 0;
      right += found == images.labels[at] ? 1 : 0;
      if (i >= compared) continue;
      const std::vector<double> in_double = rounded.scores(image);
      exact += std::ranges::equal(whole, in_double, {}, [](std::int64_t s) { return static_cast<double>(s) / 65536; })
                   ? 1
                   : 0;
    }
    fmt::print(
        "in integers only, {} test images: {} have the class that torch gives, {:.2f} % are right; {} of {} equal "
        "the same rules in double precision bit for bit\n",
        count, same_class, 100.0 * static_cast<double>(right) / static_cast<double>(count), exact, compared);
    return exact == compared;
  }

  void write(const Model& model, const BitPlan& bits) const {
    const auto network = folder_ / "network.pt";
    const auto places = folder_ / "quantization.json";
    model.save(network);
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(quantization_text(model.quantization()));
    for (const auto& [key, value] : subject_.notes) json["notes"][key] = value;
    for (const Row& row : rows_)
      json["scores"].push_back(
          {{"what", row.what}, {"validation", row.validation.accuracy}, {"test", row.test.accuracy}});
    if (!roundings_.empty()) json["roundings"] = {{"outlier_images", options_.outliers}, {"test", roundings_}};
    write_file(places, json.dump(1) + "\n");
    if (options_.json) {
      fmt::print("{}\n", json["scores"].dump());
      return;
    }
    Table table({{"network", "", Table::Align::left}, {"validation", "%"}, {"test", "%"}});
    for (const Row& row : rows_)
      table.row({row.what, fmt::format("{:.2f}", 100 * row.validation.accuracy),
                 fmt::format("{:.2f}", 100 * row.test.accuracy)});
    fmt::print("{}\n{} of {} weighted places quantised, {:.1f} kB of weights instead of {:.1f} kB\nwrote {} and {}\n",
               table.str(), bits.size(), weighted_places(subject_.plan).size(),
               static_cast<double>(weight_bytes(weighted_places(subject_.plan), bits)) / 1e3,
               static_cast<double>(weight_bytes(weighted_places(subject_.plan), {})) / 1e3, network.string(),
               places.string());
  }

  const QuantizeCommand& options_;
  std::filesystem::path folder_;
  Dataset data_;
  Subject subject_;
  Split split_;
  std::vector<std::int32_t> calibration_, test_;
  std::vector<Row> rows_;
  nlohmann::ordered_json roundings_ = nlohmann::ordered_json::array();
  const std::atomic<int>& stop_ = catch_interrupts();
};

int run(const QuantizeCommand& options) {
  if (options.control && options.epochs == 0)
    throw input_error("--control is given without --epochs: there is no further training to compare with");
  const std::size_t needed = options.has_network ? 1 : 2;
  if (options.places.size() != needed)
    throw input_error(
        "{} given, needed {}", options.places.size() == 1 ? "one place is" : "two places are",
        options.has_network ? "a folder only, as --network says what to quantise" : "a study and a folder")
        .note(
            "write `kasimir quantize STUDY --trial N --bits 8 FOLDER` or "
            "`kasimir quantize --network resnet8 --bits 8 FOLDER`");
  return Quantizing(options, options.places.back()).run();
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("quantize", "rounds weights and activations of a network to few bits");
  auto options = std::make_shared<QuantizeCommand>();
  command->add_option("places", options->places, "STUDY and FOLDER; with --network FOLDER only")
      ->required()
      ->expected(1, 2);
  command->add_option("--trial", options->subject.trial, "which trial of the study; 0 is the original network");
  command->add_option("--data", options->data, "with --network: as for `kasimir search`")->capture_default_str();
  add_data_options(*command, options->subject.reading);
  add_pixel_options(*command, options->subject.reading);
  command->add_option("--train-limit", options->train_limit, "with --network: images to train on at most; 0: all");
  command->add_option("--weights", options->subject.weights,
                      "a saved model of this network; default: those that the search kept, or ones that are trained");
  command->add_option("--kernel", options->subject.kernel,
                      "with --network: a kernel's file, put in place of its convolutions");
  command
      ->add_option("--float-epochs", options->float_epochs,
                   fmt::format("with --network: of the training without quantisation (default {}; 0 for an ONNX file "
                               "whose weights fit as they are)",
                               default_float_epochs))
      ->check(CLI::Range(0, 100000));
  command->add_option(
      "--float-rate", options->float_rate,
      fmt::format("its learning rate (default {}; {} for an ONNX file)", default_float_rate, fine_tuning_rate));
  add_norms_option(*command, options->subject.norms);
  command->add_option("--bits", options->bits.all, "of all places: 8, or w4a8 for weights and activations apart")
      ->capture_default_str();
  command->add_option("--edge-bits", options->bits.edges, "of the first and the last place")->capture_default_str();
  command->add_option("--place", options->bits.places,
                      "PATTERN=BITS, the last that matches counts; BITS may be `float`");
  command->add_option("--range", options->range, "which values the codes cover: mse, percentile, min_max, learned")
      ->capture_default_str();
  command->add_option("--images", options->images, "training images to calibrate on")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  command->add_option("--epochs", options->epochs, "of quantisation-aware training; 0: none")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command->add_option("--rate", options->rate, "its learning rate")->capture_default_str();
  command->add_option("--batch", options->batch, "images of a step")->capture_default_str();
  command->add_flag("--no-flip", options->no_flip, "never mirror images: digits and letters");
  command->add_flag("--control", options->control,
                    "train the float network on by as many epochs too: what they do without rounding");
  command
      ->add_option("--outliers", options->outliers,
                   "share of calibration images to spoil: compares rules for ranges, and Auto-NBA's form")
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--sensitivity", options->sensitivity, "quantise each place alone too");
  command->add_option("--check", options->check, "test images to compute in integers only at the end; 0: none")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command
      ->add_option("--check-exact", options->check_exact,
                   "how many of these also by the same rules in double precision, bit for bit")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "the scores as JSON");
  command->add_option("--seed", options->subject.common.seed, "of weights, order and choice of images")
      ->capture_default_str();
  add_network_options(*command, options->subject.common);
  command->callback([options, command, &action] {
    options->has_network = command->count("--network") > 0;
    action = [options] { return run(*options); };
  });
}

}  // namespace kasimir
