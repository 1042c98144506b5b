// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/encoded.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/data/fingerprint.h"
#include "kasimir/data/parallel.h"
#include "kasimir/data/resize.h"
#include "kasimir/data/split.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <thread>

namespace kasimir {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

class ChosenFiles : public ImageFiles {
 public:
  ChosenFiles(std::shared_ptr<const ImageFiles> all, std::vector<std::int32_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {}
  [[nodiscard]] std::int64_t size() const override { return std::ssize(chosen_); }
  [[nodiscard]] std::string name(std::int64_t index) const override { return all_->name(chosen_[at(index)]); }
  [[nodiscard]] DecodedImage decode(std::int64_t index) const override { return all_->decode(chosen_[at(index)]); }

 private:
  std::shared_ptr<const ImageFiles> all_;
  std::vector<std::int32_t> chosen_;
};

/// What is kept of an image that is not.
struct Facts {
  bool readable = false;
  bool grey = false;
  std::uint64_t hash = 0;       // of its three channels
  std::uint64_t grey_hash = 0;  // of the first alone
  std::array<std::uint64_t, 3> sums{};
  std::array<std::uint64_t, 3> squares{};
};

Facts facts_of(std::span<const std::uint8_t> pixels, bool grey) {
  Facts facts{.readable = true, .grey = grey, .hash = pixel_hash(pixels)};
  const std::size_t plane = pixels.size() / 3;
  facts.grey_hash = pixel_hash(pixels.first(plane));
  for (std::size_t c = 0; c < 3; ++c) {
    for (const std::uint64_t value : pixels.subspan(c * plane, plane)) {
      facts.sums[c] += value;
      facts.squares[c] += value * value;
    }
  }
  return facts;
}

/// Brings images to one size.
struct Fit {
  ImageSize size;
  bool resize = false;
  std::string first;  // the image that decided the size

  void into(const DecodedImage& image, const std::string& name, std::span<std::uint8_t> target) const {
    if (image.height == size.height && image.width == size.width) {
      std::copy(image.planes.begin(), image.planes.end(), target.begin());
      return;
    }
    if (!resize)
      throw input_error("{} is {} x {} pixels, but {} is {} x {}: all images must have one size", name, image.height,
                        image.width, first, size.height, size.width)
          .note("give a size to scale all images to (--image-size 64x64), or remove or replace the file");
    const Resizer resizer({image.height, image.width}, size);
    const std::size_t from = image.planes.size() / 3;
    const std::size_t to = target.size() / 3;
    for (std::size_t c = 0; c < 3; ++c)
      resizer.apply(std::span(image.planes).subspan(c * from, from), target.subspan(c * to, to));
  }
};

class EncodedStream : public ImageStream {
 public:
  EncodedStream(std::shared_ptr<const ImageFiles> files, Fit fit, int channels, int threads,
                const std::vector<Facts>& facts)
      : files_(std::move(files)), fit_(std::move(fit)), channels_(at(channels)), threads_(threads) {
    for (const Facts& one : facts) {
      hashes_.push_back(channels_ == 1 ? one.grey_hash : one.hash);
      for (std::size_t c = 0; c < channels_; ++c) sums_.push_back(one.sums[c]);
      for (std::size_t c = 0; c < channels_; ++c) sums_.push_back(one.squares[c]);
    }
  }

  void read(std::span<const std::int32_t> indices, std::span<std::uint8_t> to) const override {
    const std::size_t plane = at(fit_.size.height) * at(fit_.size.width);
    KASIMIR_CHECK(to.size() == indices.size() * channels_ * plane, "{} bytes for {} images", to.size(), indices.size());
    const auto one = [&](std::int64_t i) {
      std::vector<std::uint8_t> all(3 * plane);
      const std::int32_t index = indices[at(i)];
      fit_.into(files_->decode(index), files_->name(index), all);
      std::copy_n(all.begin(), channels_ * plane, to.begin() + i * static_cast<std::ptrdiff_t>(channels_ * plane));
    };
    for_each_index(std::ssize(indices), threads_, one, nullptr);
  }
  [[nodiscard]] std::span<const std::uint64_t> sums(std::int64_t index) const override {
    return std::span(sums_).subspan(at(index) * 2 * channels_, 2 * channels_);
  }
  [[nodiscard]] std::uint64_t hash(std::int64_t index) const override { return hashes_[at(index)]; }

 private:
  std::shared_ptr<const ImageFiles> files_;
  Fit fit_;
  std::size_t channels_;
  int threads_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint64_t> hashes_;
};

/// Keeps one of three equal channels.
void make_grey(ImageSet& set) {
  set.channels = 1;
  if (set.pixels.empty()) return;
  const std::size_t plane = set.image_bytes();
  for (std::size_t i = 0; i < set.labels.size(); ++i)
    std::copy_n(set.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i * plane), plane,
                set.pixels.begin() + static_cast<std::ptrdiff_t>(i * plane));
  set.pixels.resize(set.labels.size() * plane);
  set.pixels.shrink_to_fit();
}

/// The first image that can be read decides the size of all.
Fit fit_of(const ImageFiles& files, const LoadOptions& options) {
  if (options.resize) return {*options.resize, true, ""};
  for (std::int64_t i = 0; i < files.size(); ++i) {
    try {
      const DecodedImage image = files.decode(i);
      return {{image.height, image.width}, false, files.name(i)};
    } catch (const Error& error) {
      if (error.fault() != Fault::input) throw;
    }
  }
  return {{1, 1}, false, ""};
}

/// One part while it is read.
struct Part {
  const EncodedPart& from;
  ImageSet set;
  std::vector<Facts> facts;
  std::map<std::int64_t, std::string> damage;  // by index, what is wrong

  explicit Part(const EncodedPart& part) : from(part) {}

  void read(const Fit& fit, bool streamed, int threads, const std::function<void(std::int64_t)>& progress) {
    set = {.channels = 3, .height = fit.size.height, .width = fit.size.width, .pixels = {}, .labels = from.labels};
    const std::int64_t count = from.files->size();
    const std::size_t bytes = set.image_bytes();
    if (!streamed) set.pixels.resize(bytes * at(count));
    facts.resize(at(count));
    std::mutex mutex;
    const auto one = [&](std::int64_t i) {
      DecodedImage image;
      try {
        image = from.files->decode(i);
      } catch (const Error& error) {
        if (error.fault() != Fault::input) throw;
        const std::scoped_lock lock(mutex);
        damage[i] = error.message();
        return;
      }
      std::vector<std::uint8_t> own(streamed ? bytes : 0);
      const auto target = streamed ? std::span(own) : std::span(set.pixels).subspan(at(i) * bytes, bytes);
      fit.into(image, from.files->name(i), target);
      facts[at(i)] = streamed ? facts_of(target, image.grey) : Facts{.readable = true, .grey = image.grey};
    };
    for_each_index(count, threads, one, progress);
  }

  [[nodiscard]] bool has_colour() const {
    return std::ranges::any_of(facts, [](const Facts& one) { return one.readable && !one.grey; });
  }

  /// Leaves out what could not be read; the indices of the others.
  std::vector<std::int32_t> drop_damaged(const std::string& where, const char* name) {
    std::vector<std::int32_t> kept;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(facts.size()); ++i)
      if (facts[at(i)].readable) kept.push_back(i);
    if (kept.empty()) throw input_error("{}: no {} image of {} can be read", where, name, facts.size());
    if (damage.empty()) return kept;
    if (set.pixels.empty()) {
      std::vector<std::int32_t> labels;
      for (const std::int32_t i : kept) labels.push_back(set.labels[at(i)]);
      set.labels = std::move(labels);
    } else {
      set = select_images(set, kept);
    }
    std::erase_if(facts, [](const Facts& one) { return !one.readable; });
    return kept;
  }
};

}  // namespace

std::shared_ptr<const ImageFiles> chosen_files(std::shared_ptr<const ImageFiles> all,
                                               std::vector<std::int32_t> chosen) {
  return std::make_shared<ChosenFiles>(std::move(all), std::move(chosen));
}

void add_corrupt(CorruptFiles& corrupt, const std::string& name, const std::string& reason) {
  ++corrupt.count;
  if (corrupt.first.size() < CorruptFiles::most_listed) corrupt.first.push_back({name, reason});
}

void refuse_corrupt(const std::string& where, const CorruptFiles& corrupt, std::int64_t total) {
  if (corrupt.count == 0) return;
  Error error = input_error("{}: {} of {} image{} cannot be read", where, grouped(corrupt.count), grouped(total),
                            total == 1 ? "" : "s");
  for (const CorruptFiles::File& file : corrupt.first) error.note(file.reason);
  if (corrupt.count > std::ssize(corrupt.first))
    error.note(fmt::format("and {} more", grouped(corrupt.count - std::ssize(corrupt.first))));
  throw error.note("remove or replace them, or go on without them: --skip-corrupt; nothing was changed");
}

EncodedSets read_encoded(const std::string& where, const EncodedPart& train, const EncodedPart& test,
                         CorruptFiles corrupt, const LoadOptions& options, const LoadProgress& progress) {
  const int machine = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int threads = options.threads == 0 ? machine : options.threads;
  const Fit fit = fit_of(*train.files, options);
  const std::int64_t total = train.files->size() + test.files->size();
  const double bytes = 3.0 * fit.size.height * fit.size.width * static_cast<double>(total);
  EncodedSets sets;
  sets.streamed = bytes > static_cast<double>(options.memory_limit);
  std::array<Part, 2> parts{Part(train), Part(test)};
  std::int64_t start = 0;
  const std::int64_t before = corrupt.count;
  for (Part& part : parts) {
    std::function<void(std::int64_t)> report;
    if (progress) report = [&progress, start, total](std::int64_t done) { progress(start + done, total); };
    part.read(fit, sets.streamed, threads, report);
    for (const auto& [index, reason] : part.damage) add_corrupt(corrupt, part.from.files->name(index), reason);
    start += part.from.files->size();
  }
  if (!options.skip_corrupt) refuse_corrupt(where, corrupt, total + before);
  sets.train_kept = parts[0].drop_damaged(where, "training");
  sets.test_kept = parts[1].drop_damaged(where, "test");
  const bool grey = !parts[0].has_colour() && !parts[1].has_colour();
  const std::array kept{&sets.train_kept, &sets.test_kept};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ImageSet& set = parts[i].set;
    if (grey) make_grey(set);
    if (sets.streamed)
      set.stream = std::make_shared<EncodedStream>(chosen_files(parts[i].from.files, *kept[i]), fit, set.channels,
                                                   threads, parts[i].facts);
  }
  sets.train = std::move(parts[0].set);
  sets.test = std::move(parts[1].set);
  sets.corrupt = std::move(corrupt);
  return sets;
}

}  // namespace kasimir
