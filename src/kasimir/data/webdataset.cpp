// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/webdataset.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/data/encoded.h"
#include "kasimir/data/folder.h"
#include "kasimir/data/parts.h"
#include "kasimir/data/tar.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest_label = 1 << 20;  // bytes; captions and metadata beyond are no labels

struct Sample {
  std::size_t shard = 0;
  std::int64_t at = 0;
  std::int64_t size = 0;
  std::string name;  // for messages: "shard.tar: member"
  std::string label;
};

struct Shards {
  std::vector<fs::path> paths;
  std::vector<Sample> samples;
  CorruptFiles corrupt;
};

class TarFiles : public ImageFiles {
 public:
  TarFiles(std::vector<fs::path> shards, std::vector<Sample> samples)
      : shards_(std::move(shards)), samples_(std::move(samples)) {}
  [[nodiscard]] std::int64_t size() const override { return std::ssize(samples_); }
  [[nodiscard]] std::string name(std::int64_t index) const override { return sample(index).name; }
  [[nodiscard]] DecodedImage decode(std::int64_t index) const override {
    const Sample& of = sample(index);
    return decode_image(RangeFile(shards_[of.shard]).read(of.at, of.size), of.name);
  }

 private:
  [[nodiscard]] const Sample& sample(std::int64_t index) const { return samples_[static_cast<std::size_t>(index)]; }

  std::vector<fs::path> shards_;
  std::vector<Sample> samples_;
};

/// A member's name as key and ending: "a/0001.seg.png" is "a/0001" and "seg.png".
std::pair<std::string, std::string> key_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), lower_case(name.substr(dot + 1))};
}

/// The label that a .json member holds. @throws Error (input) with the keys found.
std::string json_label(const std::string& content, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(content, nullptr, false);
  if (json.is_discarded()) throw input_error("{} is no JSON", name);
  if (json.is_number_integer()) return json.dump();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object()) {
    for (const char* key : {"label", "cls", "class"}) {
      const auto found = json.find(key);
      if (found == json.end()) continue;
      if (found->is_number_integer()) return found->dump();
      if (found->is_string()) return found->get<std::string>();
    }
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    throw input_error("{} has no label: a number or a name under label, cls or class is needed, found are {}", name,
                      keys.empty() ? "no keys" : join(keys, ", "));
  }
  throw input_error("{} has no label: an object, a whole number or a name is needed", name);
}

/// The members of one sample.
struct Group {
  std::map<std::string, TarMember> members;  // by ending

  [[nodiscard]] const TarMember* any_of(std::initializer_list<const char*> endings) const {
    for (const char* ending : endings) {
      const auto found = members.find(ending);
      if (found != members.end()) return &found->second;
    }
    return nullptr;
  }
};

class ShardReader {
 public:
  ShardReader(Shards& shards, const fs::path& path) : shards_(shards), file_(path), number_(shards.paths.size()) {
    shards.paths.push_back(path);
  }

  void read() {
    const TarListing listing = list_tar(file_);
    std::string key;
    Group group;
    for (const TarMember& member : listing.members) {
      auto [now, ending] = key_of(member.name);
      if (now != key) finish(key, group);
      key = now;
      group.members.emplace(ending, member);
    }
    // Of a sample at the place of the damage, members may be missing: the shard's own damage says so.
    if (!listing.damage || complete(group)) finish(key, group);
    if (listing.damage)
      add_corrupt(shards_.corrupt, file_.name(), fmt::format("{}: {}", file_.name(), *listing.damage));
  }

 private:
  static const TarMember* image_of(const Group& group) { return group.any_of({"jpg", "jpeg", "png"}); }
  static const TarMember* label_of(const Group& group) { return group.any_of({"cls", "txt", "json"}); }
  static bool complete(const Group& group) { return image_of(group) != nullptr && label_of(group) != nullptr; }

  void finish(const std::string& key, Group& group) {
    if (group.members.empty()) return;
    const Group now = std::exchange(group, {});
    try {
      add(key, now);
    } catch (const Error& error) {
      if (error.fault() != Fault::input) throw;
      add_corrupt(shards_.corrupt, fmt::format("{}: {}", file_.name(), key), error.message());
    }
  }

  void add(const std::string& key, const Group& group) {
    std::vector<std::string> found;
    for (const auto& [ending, member] : group.members) found.push_back("." + ending);
    const TarMember* image = image_of(group);
    const TarMember* label = label_of(group);
    if (image == nullptr)
      throw input_error("{}: sample `{}` has no image (.jpg, .jpeg or .png): found {}", file_.name(), key,
                        join(found, ", "));
    if (label == nullptr)
      throw input_error("{}: sample `{}` has no label (.cls, .txt or .json): found {}", file_.name(), key,
                        join(found, ", "));
    shards_.samples.push_back({.shard = number_,
                               .at = image->at,
                               .size = image->size,
                               .name = fmt::format("{}: {}", file_.name(), image->name),
                               .label = label_text(*label)});
  }

  [[nodiscard]] std::string label_text(const TarMember& member) const {
    const std::string name = fmt::format("{}: {}", file_.name(), member.name);
    if (member.size > longest_label)
      throw input_error("{} has {} bytes, a label has at most {}", name, member.size, longest_label);
    const std::string content = file_.read(member.at, member.size);
    const std::string label = member.name.ends_with(".json") ? json_label(content, name) : std::string(trim(content));
    if (label.empty()) throw input_error("{} is empty, a class is needed", name);
    return label;
  }

  Shards& shards_;
  RangeFile file_;
  std::size_t number_;
};

Shards read_shards(const std::vector<fs::path>& paths) {
  Shards shards;
  for (const fs::path& path : paths) ShardReader(shards, path).read();
  return shards;
}

/// True if every label is a whole number that can be that of a class.
bool all_numbers(const Shards& shards) {
  return std::ranges::all_of(shards.samples, [](const Sample& sample) {
    const auto value = parse_integer(sample.label);
    return value && *value >= 0 && *value < most_classes;
  });
}

/// The names of the classes that the training part has, or the numbers up to its greatest.
std::vector<std::string> classes_of(const Shards& train, bool numbers) {
  std::set<std::string> names;
  std::int64_t last = -1;
  for (const Sample& sample : train.samples) {
    if (numbers) last = std::max(last, *parse_integer(sample.label));
    names.insert(sample.label);
  }
  if (!numbers) return {names.begin(), names.end()};
  return numbered_classes(last + 1);
}

std::vector<std::int32_t> labels_of(const Shards& shards, const std::vector<std::string>& classes, bool numbers) {
  std::vector<std::int32_t> labels;
  for (const Sample& sample : shards.samples) {
    const std::string name = numbers ? fmt::format("{}", *parse_integer(sample.label)) : sample.label;
    const auto found = numbers ? classes.begin() + std::min<std::int64_t>(*parse_integer(name), std::ssize(classes))
                               : std::ranges::find(classes, name);
    if (found == classes.end())
      throw input_error("{} has the class `{}`, which no training image has", sample.name, name)
          .note(numbers ? fmt::format("classes: 0 to {}", classes.size() - 1) : suggestion(name, classes));
    labels.push_back(static_cast<std::int32_t>(found - classes.begin()));
  }
  return labels;
}

std::vector<fs::path> tars_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : sorted_entries(folder))
    if (entry.path().extension() == ".tar") found.push_back(entry.path());
  return found;
}

struct PathsOfParts {
  std::vector<fs::path> train;
  std::vector<fs::path> test;
};

PathsOfParts find_shards(const std::string& where) {
  std::map<PartName, std::vector<fs::path>> parts;
  if (fs::is_directory(where)) {
    for (const fs::path& path : tars_in(where)) parts[part_of_name(path.stem().string())].push_back(path);
    for (const char* folder : {"train", "val", "test"})
      for (const fs::path& path : tars_in(fs::path(where) / folder)) parts[part_of_name(folder)].push_back(path);
  } else {
    for (const std::string& path : expand_braces(where))
      parts[part_of_name(fs::path(path).stem().string())].emplace_back(path);
  }
  const bool has_test = parts.contains(PartName::test);
  PathsOfParts paths{std::move(parts[PartName::train]),
                     std::move(parts[has_test ? PartName::test : PartName::validation])};
  if (paths.train.empty())
    throw input_error("{} has shards to test with, but none to train on", where)
        .note("shards whose names begin with `test` or `val` are not trained on");
  return paths;
}

}  // namespace

bool looks_like_webdataset(const std::string& where) {
  if (!fs::is_directory(where)) return where.ends_with(".tar");
  return !tars_in(where).empty() || !tars_in(fs::path(where) / "train").empty();
}

Dataset load_webdataset(const std::string& where, const LoadOptions& options, const LoadProgress& progress) {
  const PathsOfParts paths = find_shards(where);
  Shards train = read_shards(paths.train);
  Shards test = read_shards(paths.test);
  CorruptFiles corrupt = std::move(train.corrupt);
  join_corrupt(corrupt, test.corrupt);
  if (train.samples.empty()) {
    refuse_corrupt(where, corrupt, corrupt.count);
    throw input_error("{} holds no sample: an image with a label (.cls, .txt or .json) of the same key is needed",
                      where);
  }
  const bool numbers = all_numbers(train) && all_numbers(test);
  Dataset data;
  data.classes = classes_of(train, numbers);
  std::vector<std::int32_t> train_labels = labels_of(train, data.classes, numbers);
  std::vector<std::int32_t> test_labels = labels_of(test, data.classes, numbers);
  const std::shared_ptr<const ImageFiles> train_files =
      std::make_shared<TarFiles>(std::move(train.paths), std::move(train.samples));
  std::shared_ptr<const ImageFiles> test_files =
      std::make_shared<TarFiles>(std::move(test.paths), std::move(test.samples));
  data.description = fmt::format("{} tar shard{} in {}", paths.train.size() + paths.test.size(),
                                 paths.train.size() + paths.test.size() == 1 ? "" : "s", where);
  EncodedPart train_part{train_files, std::move(train_labels)};
  EncodedPart test_part{test_files, std::move(test_labels)};
  if (paths.test.empty()) data.description += set_apart(where, train_part, test_part, options.seed);
  limit_part(train_part, options.train_limit, options.seed);
  limit_part(test_part, options.test_limit, options.seed);
  EncodedSets sets = read_encoded(where, train_part, test_part, std::move(corrupt), options, progress);
  if (sets.streamed) data.description += "; streamed";
  data.train = std::move(sets.train);
  data.test = std::move(sets.test);
  data.corrupt = std::move(sets.corrupt);
  return data;
}

}  // namespace kasimir
