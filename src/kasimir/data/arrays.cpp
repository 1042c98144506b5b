// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/arrays.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/data/array_images.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/parts.h"
#include "kasimir/data/target_scale.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

/// Names of the images and the targets of one part.
struct Pair {
  std::string x;
  std::string y;
};

std::optional<Pair> find_pair(const ArrayStore& store, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    for (const char* x : {"x", "images", "data"}) {
      for (const char* y : {"y", "labels", "targets", "masks"}) {
        const auto images = store.find(fmt::format(fmt::runtime(pattern), x));
        const auto targets = store.find(fmt::format(fmt::runtime(pattern), y));
        if (images && targets) return Pair{*images, *targets};
      }
    }
  }
  return std::nullopt;
}

/// What one part's targets are.
struct Targets {
  TargetKind kind = TargetKind::classes;
  std::vector<std::int32_t> labels;
  std::vector<float> values;
  std::vector<std::uint8_t> masks;
  std::int64_t count = 0;  // classes or values
  std::vector<std::int32_t> damaged;
};

std::int64_t whole_class(const NpyArray& array, std::int64_t index, std::int64_t most) {
  const double label = array.at(index);
  if (label < 0 || label >= static_cast<double>(most))
    throw input_error("{} holds {} at element {}: classes are 0 to {}", array.name, label, index, most - 1);
  return static_cast<std::int64_t>(label);
}

void read_classes(const NpyArray& array, Targets& targets) {
  for (std::int64_t i = 0; i < array.header.elements(); ++i) {
    targets.labels.push_back(static_cast<std::int32_t>(whole_class(array, i, most_classes)));
    targets.count = std::max<std::int64_t>(targets.count, targets.labels.back() + 1);
  }
}

void read_masks(const NpyArray& array, Targets& targets) {
  targets.kind = TargetKind::masks;
  for (std::int64_t i = 0; i < array.header.elements(); ++i) {
    targets.masks.push_back(static_cast<std::uint8_t>(whole_class(array, i, 256)));
    targets.count = std::max<std::int64_t>(targets.count, targets.masks.back() + 1);
  }
}

void read_values(const NpyArray& array, std::int64_t images, Targets& targets) {
  targets.kind = TargetKind::values;
  targets.count = array.header.elements() / images;
  for (std::int64_t i = 0; i < images; ++i) {
    bool finite = true;
    for (std::int64_t k = 0; k < targets.count; ++k) {
      targets.values.push_back(static_cast<float>(array.at(i * targets.count + k)));
      finite = finite && std::isfinite(targets.values.back());
    }
    if (!finite) targets.damaged.push_back(static_cast<std::int32_t>(i));
  }
}

Targets read_targets(const NpyArray& array, const ArrayLayout& of, const std::string& images) {
  const std::vector<std::int64_t>& shape = array.header.shape;
  if (shape.empty() || shape[0] != of.images)
    throw input_error("{} is {}, but {} has {} images", array.name, array.header.shape_text(), images, of.images);
  Targets targets;
  const bool one_each = shape.size() == 1 || (shape.size() == 2 && shape[1] == 1);
  if (array.header.is_float() && shape.size() <= 2 && array.header.elements() > 0) {
    read_values(array, of.images, targets);
  } else if (!array.header.is_float() && one_each) {
    read_classes(array, targets);
  } else if (!array.header.is_float() && shape.size() == 3 && shape[1] == of.height && shape[2] == of.width) {
    read_masks(array, targets);
  } else {
    throw input_error(
        "{} is {}: targets of {} images are {} classes (whole numbers), {} x k values (floating point), or "
        "masks of {} x {} pixels (whole numbers)",
        array.name, array.header.shape_text(), of.images, of.images, of.images, of.height, of.width)
        .note("classes as rows with a single 1 become numbers by y.argmax(axis=1)");
  }
  if (targets.labels.empty()) targets.labels.assign(static_cast<std::size_t>(of.images), 0);
  return targets;
}

std::vector<std::int32_t> first_indices(std::int64_t count) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int thread_count(const LoadOptions& options) {
  return options.threads != 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Reads a part after the other; they share the kind of target and how pixels are scaled.
class ArrayLoader {
 public:
  ArrayLoader(const std::string& where, const LoadOptions& options) : store_(where), where_(where), options_(options) {}

  Dataset load() {
    const auto train = find_pair(store_, {"{}_train", "train_{}"});
    auto test = find_pair(store_, {"{}_test", "test_{}"});
    if (!test) test = find_pair(store_, {"{}_val", "val_{}", "{}_valid", "valid_{}"});
    const auto whole = find_pair(store_, {"{}"});
    if (!train && !whole) fail_names();
    Dataset data;
    data.description = fmt::format("NumPy arrays in {}", where_);
    if (train && test) {
      data.train = part(*train, data);
      attach(data.train, kept_);
      data.test = part(*test, data);
      same_size(*train, *test, data);
      attach(data.test, kept_);
    } else {
      part_in_two(train ? *train : *whole, data);
    }
    if (!options_.skip_corrupt) refuse_corrupt(where_, data.corrupt, total_);
    if (data.train.labels.empty() || data.test.labels.empty())
      throw input_error("{}: no {} image can be read", where_, data.train.labels.empty() ? "training" : "test");
    finish(data);
    return data;
  }

 private:
  [[noreturn]] void fail_names() const {
    const std::vector<std::string> names = store_.names();
    throw input_error("{} has no images and targets of known names", where_)
        .note(names.empty() ? "it holds no array" : fmt::format("found: {}", join(names, ", ")))
        .note(
            "known: x and y, or images and labels, alone or as x_train, y_train, x_test, y_test; targets may be masks");
  }

  /// The images of a part in memory, or streamed where they are too large.
  ImageSet images(const std::string& name, std::vector<std::int32_t>& damaged, std::string& description) {
    const std::string title = store_.title(name);
    const std::int64_t bytes = store_.bytes(name);
    if (bytes > options_.memory_limit) return streamed(name, description);
    const NpyArray array = store_.load(name);
    layout_ = image_layout(array.header, title);
    if (!scale_) {
      scale_ = pixel_scale(array);
      description += scale_->text;
    }
    return images_of(array, layout_, *scale_, damaged);
  }

  ImageSet streamed(const std::string& name, std::string& description) {
    const auto raw = store_.raw(name);
    if (!raw || raw->header.type != ElementType::u1)
      throw input_error("{} has {}B, {}B of memory are allowed", store_.title(name),
                        si(static_cast<double>(store_.bytes(name))), si(static_cast<double>(options_.memory_limit)))
          .note("allow more (--data-memory), or save the images as bytes with numpy.savez: these are streamed");
    layout_ = image_layout(raw->header, store_.title(name));
    ImageSet set{
        .channels = layout_.channels, .height = layout_.height, .width = layout_.width, .pixels = {}, .labels = {}};
    raw_ = *raw;
    if (!description.ends_with("; streamed")) description += "; streamed";
    return set;
  }

  ImageSet part(const Pair& pair, Dataset& data) {
    raw_.reset();
    std::vector<std::int32_t> damaged;
    ImageSet set = images(pair.x, damaged, data.description);
    Targets targets = read_targets(store_.load(pair.y), layout_, store_.title(pair.x));
    join_kind(pair, targets, data);
    total_ += layout_.images;
    std::set<std::int32_t> bad(damaged.begin(), damaged.end());
    for (const std::int32_t i : damaged) note(data, pair.x, i);
    for (const std::int32_t i : targets.damaged)
      if (bad.insert(i).second) note(data, pair.y, i);
    set.labels = std::move(targets.labels);
    set.values = std::move(targets.values);
    set.masks = std::move(targets.masks);
    std::vector<std::int32_t> kept = first_indices(layout_.images);
    std::erase_if(kept, [&](std::int32_t i) { return bad.contains(i); });
    kept_ = std::move(kept);
    return bad.empty() ? set : chosen(set, kept_);
  }

  /// The images at `indices` with their targets; the images themselves only if they are in memory.
  [[nodiscard]] ImageSet chosen(const ImageSet& all, const std::vector<std::int32_t>& indices) const {
    if (!raw_) return select_images(all, indices);
    ImageSet bare = all;
    bare.channels = 0;
    ImageSet set = select_images(bare, indices);
    set.channels = all.channels;
    return set;
  }

  /// The stream of a set whose images are those of the array at `places`, if it is streamed.
  void attach(ImageSet& set, const std::vector<std::int32_t>& places) const {
    if (raw_) set.stream = array_stream(*raw_, layout_, places, thread_count(options_));
  }

  void note(Dataset& data, const std::string& name, std::int32_t index) const {
    const std::string title = fmt::format("{}[{}]", store_.title(name), index);
    add_corrupt(data.corrupt, title, fmt::format("{} holds a number that is not finite", title));
  }

  void part_in_two(const Pair& pair, Dataset& data) {
    const ImageSet all = part(pair, data);
    if (all.labels.empty()) return;
    const Split split = apart_for_test(where_, all.labels, options_.seed);
    data.description += apart_text(options_.seed);
    for (const auto& [set, indices] : {std::pair{&data.train, &split.train}, {&data.test, &split.validation}}) {
      *set = chosen(all, *indices);
      std::vector<std::int32_t> places;
      for (const std::int32_t i : *indices) places.push_back(kept_[static_cast<std::size_t>(i)]);
      attach(*set, places);
    }
  }

  void join_kind(const Pair& pair, const Targets& targets, Dataset& data) {
    if (count_ < 0) {
      data.target = targets.kind;
      count_ = targets.count;
      return;
    }
    if (targets.kind != data.target || (targets.kind == TargetKind::values && targets.count != count_))
      throw input_error("{} has other targets than the training part", store_.title(pair.y));
    if (targets.count > count_)
      throw input_error("{} has the class {}, which no training image has", store_.title(pair.y), targets.count - 1)
          .note(fmt::format("classes: 0 to {}", count_ - 1));
  }

  void same_size(const Pair& train, const Pair& test, const Dataset& data) const {
    const auto text = [](const ImageSet& set) {
      return fmt::format("{} x {} x {}", set.channels, set.height, set.width);
    };
    if (text(data.train) != text(data.test))
      throw input_error("{} has images of {} (channels, rows, columns), but {} of {}", store_.title(test.x),
                        text(data.test), store_.title(train.x), text(data.train));
  }

  void finish(Dataset& data) const {
    if (data.target == TargetKind::values) {
      data.scales = bring_to_scale(data.train, data.test);
      for (std::int64_t k = 0; k < count_; ++k) data.classes.push_back(count_ == 1 ? "y" : fmt::format("y{}", k));
    } else {
      data.classes = numbered_classes(count_);
    }
  }

  ArrayStore store_;
  std::string where_;
  const LoadOptions& options_;
  ArrayLayout layout_;
  std::optional<PixelScale> scale_;
  std::optional<ArrayStore::Raw> raw_;  // of the part that is read, if it is streamed
  std::vector<std::int32_t> kept_;      // places in its array of the images of the part that is read
  std::int64_t count_ = -1;
  std::int64_t total_ = 0;
};

}  // namespace

bool looks_like_arrays(const std::string& where) {
  if (!fs::is_directory(where)) return where.ends_with(".npz") || where.ends_with(".npy");
  const auto entries = sorted_entries(where);
  return std::ranges::any_of(entries, [](const auto& entry) { return entry.path().extension() == ".npy"; });
}

Dataset load_arrays(const std::string& where, const LoadOptions& options) {
  if (where.ends_with(".npy") && !fs::is_directory(where))
    throw input_error("{} is one array, images and targets are needed", where)
        .note("give the folder with x.npy and y.npy, or an .npz file with both");
  return ArrayLoader(where, options).load();
}

}  // namespace kasimir
