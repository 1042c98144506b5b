// SPDX-License-Identifier: Apache-2.0
#include "kasimir/bench_integers.h"

#include "kasimir/sampling.h"
#include "kasimir/search_spec.h"
#include "kasimir/sites.h"
#include "kasimir/stop.h"
#include "kasimir/subject.h"

#include "kasimir/base/files.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/network/fake_quantized_network.h"
#include "kasimir/network/integer_network.h"
#include "kasimir/number/catalog.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/train/quantize.h"

#include <algorithm>
#include <ctime>
#include <set>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t calibration_images = 256;
constexpr double seconds_between_notes = 20;

/// Of the processor: this is one thread.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What was compared of one network.
struct Compared {
  std::string name;
  std::size_t places = 0;
  std::int64_t images = 0, equal = 0;
  std::int64_t scores = 0;  ///< different ones of the last images, since equal constants would prove nothing
  double integer_seconds = 0, double_seconds = 0;  ///< of the processor
};

nlohmann::ordered_json to_json(const Compared& one) {
  return {{"name", one.name},
          {"places", one.places},
          {"images", one.images},
          {"equal", one.equal},
          {"different_scores", one.scores},
          {"integer_seconds", one.integer_seconds},
          {"double_seconds", one.double_seconds}};
}

Compared compared_from(const nlohmann::ordered_json& json) {
  return {json.at("name"),          json.at("places"),           json.at("images"),
          json.at("equal"),         json.at("different_scores"), json.at("integer_seconds"),
          json.at("double_seconds")};
}

class IntegerBench {
 public:
  explicit IntegerBench(const BenchIntegers& options) : options_(options) {
    load_state();
    data_ = load_dataset(options.data, {});
    network_ = std::make_unique<Network>(network_for(options.network, 1.0,
                                                     {data_.train.channels, data_.train.height, data_.train.width},
                                                     static_cast<std::int64_t>(data_.classes.size())));
    calibration_ =
        stratified_subset(data_.train.labels, std::min(calibration_images, data_.train.size()), options.seed);
    images_ = select_images(
        data_.test, stratified_subset(data_.test.labels, std::min(options.images, data_.test.size()), options.seed));
  }

  int run() {
    bool go_on = compare(options_.network, {network_.get(), {}}, options_.weights);
    if (go_on && options_.kernels > 0) go_on = compare_kernels();
    if (!go_on) {
      fmt::print(stderr, "stopped; the same command goes on{}\n", options_.folder.empty() ? " from the start" : "");
      return 130;
    }
    print();
    const bool same = std::ranges::all_of(done_, [](const Compared& one) { return one.equal == one.images; });
    return same ? 0 : static_cast<int>(Fault::bug);
  }

 private:
  [[nodiscard]] nlohmann::ordered_json spec() const {
    return {{"network", options_.network}, {"data", options_.data}, {"weights", options_.weights},
            {"images", options_.images},   {"bits", options_.bits}, {"seed", options_.seed}};
  }
  [[nodiscard]] fs::path state_path() const { return fs::path(options_.folder) / "integers.json"; }

  void load_state() {
    if (options_.folder.empty() || !fs::exists(state_path())) return;
    const auto state = nlohmann::ordered_json::parse(read_file(state_path()), nullptr, false);
    if (!state.is_object() || state.value("spec", nlohmann::ordered_json()) != spec())
      throw input_error("{} is of other options", state_path().string())
          .note("give the same options to go on, or another folder");
    for (const auto& one : state["networks"]) done_.push_back(compared_from(one));
  }

  void save_state() const {
    if (options_.folder.empty()) return;
    make_folder(options_.folder);
    nlohmann::ordered_json state{{"spec", spec()}, {"networks", nlohmann::ordered_json::array()}};
    for (const Compared& one : done_) state["networks"].push_back(to_json(one));
    write_file(state_path(), state.dump(1) + "\n");
  }

  bool compare_kernels() {
    SampleOptions sampling;
    sampling.budget = sampling_budget("");
    const auto sites = find_sites(*network_);
    const Sampler sampler(catalog(), site_loads(sites), sampling, options_.seed);
    std::vector<Kernel> kernels;
    const std::uint64_t most = 2000 * options_.kernels + 20000;
    const SampleStats stats =
        sample(sampler, options_.kernels, most, 1, [&](const Sampled& one) { kernels.push_back(one.kernel); });
    if (kernels.size() < options_.kernels) throw nothing_found(sampler, stats, kernels.size(), options_.kernels);
    for (std::size_t k = 0; k < kernels.size(); ++k)
      if (!compare(fmt::format("{}, kernel {}", options_.network, k + 1), replace_with(*network_, sites, kernels[k]),
                   ""))
        return false;
    return true;
  }

  BitPlan drawn_bits(const std::vector<WeightedPlace>& places, Rng& rng) const {
    const auto draw = [&] { return options_.bits[rng.below(options_.bits.size())]; };
    BitPlan plan;
    for (const WeightedPlace& place : places) {
      const int weight = draw();
      plan[place.weight] = {weight, draw()};
    }
    return plan;
  }

  std::shared_ptr<Model> model_of(const NetworkPlan& plan, const std::string& weights) const {
    auto model = std::make_shared<Model>(plan, ModelOptions{.seed = options_.seed});
    if (!weights.empty()) {
      model->load(weights);
      return model;
    }
    model->set_normalisation(channel_statistics(data_.train, calibration_));
    reestimate_statistics(*model, data_.train, calibration_);
    return model;
  }

  /// Goes on where an earlier run ended. False: stopped.
  bool compare(const std::string& name, const NetworkPlan& plan, const std::string& weights) {
    auto known = std::ranges::find(done_, name, &Compared::name);
    if (known != done_.end() && known->images >= images_.size()) return true;
    const auto at = static_cast<std::size_t>(known - done_.begin());
    if (known == done_.end()) done_.push_back({.name = name});
    const auto places = weighted_places(plan);
    Rng rng(options_.seed, at);
    const auto model = model_of(plan, weights);
    const Quantization quantization =
        calibrate(*model, plan, data_.train, calibration_, drawn_bits(places, rng), range_estimator("mse"));
    done_[at].places = places.size();
    const bool whole = compare_images(*model, plan, quantization, done_[at]);
    save_state();
    return whole;
  }

  bool compare_images(const Model& model, const NetworkPlan& plan, const Quantization& quantization, Compared& of) {
    const std::vector<float> pixels = planar_images(model, images_);
    const IntegerNetwork integers(plan, model.tensors(), quantization);
    const FakeQuantizedNetwork doubles(plan, model.tensors(), quantization);
    std::set<std::int64_t> seen;
    Stopwatch since_note;
    while (of.images < images_.size()) {
      if (stop_.load() != study::go_on) return false;
      const auto image =
          std::span(pixels).subspan(static_cast<std::size_t>(of.images) * images_.image_bytes(), images_.image_bytes());
      const double start = cpu_seconds();
      const std::vector<std::int64_t> whole = integers.scores(image);
      const double between = cpu_seconds();
      const std::vector<double> real = doubles.scores(image);
      of.integer_seconds += between - start;
      of.double_seconds += cpu_seconds() - between;
      const auto same = [](std::int64_t code, double score) { return static_cast<double>(code) * 0x1p-16 == score; };
      of.equal += std::ranges::equal(whole, real, same) ? 1 : 0;
      ++of.images;
      seen.insert(whole.begin(), whole.end());
      of.scores = std::max(of.scores, std::ssize(seen));
      if (since_note.seconds() < seconds_between_notes) continue;
      since_note = Stopwatch();
      save_state();
      fmt::print(stderr, "{}: {} of {} images, {} equal\n", of.name, of.images, images_.size(), of.equal);
    }
    return true;
  }

  void print() const {
    Table table({{"network", "", Table::Align::left},
                 {"places", ""},
                 {"images", ""},
                 {"equal", ""},
                 {"different scores", ""},
                 {"in integers", "CPU ms an image"},
                 {"in double", "CPU ms an image"}});
    std::int64_t images = 0;
    std::int64_t equal = 0;
    for (const Compared& one : done_) {
      if (options_.json) fmt::print("{}\n", to_json(one).dump());
      const auto each = [&](double seconds) {
        return fmt::format("{:.0f}", 1e3 * seconds / static_cast<double>(one.images));
      };
      table.row({one.name, std::to_string(one.places), std::to_string(one.images), std::to_string(one.equal),
                 std::to_string(one.scores), each(one.integer_seconds), each(one.double_seconds)});
      images += one.images;
      equal += one.equal;
    }
    if (!options_.json)
      fmt::print("{}\nbits {} mixed, {}: all scores of {} of {} images are equal bit for bit\n", table.str(),
                 fmt::join(options_.bits, ", "), options_.weights.empty() ? "random weights" : "trained weights", equal,
                 images);
  }

  const BenchIntegers& options_;
  Dataset data_;
  std::unique_ptr<Network> network_;
  std::vector<std::int32_t> calibration_;
  ImageSet images_;
  std::vector<Compared> done_;
  const std::atomic<int>& stop_ = catch_interrupts();
};

}  // namespace

int bench_integers(const BenchIntegers& options) { return IntegerBench(options).run(); }

}  // namespace kasimir
