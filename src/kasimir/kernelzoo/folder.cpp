// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernelzoo/folder.h"

#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/kernelzoo/facts.h"
#include "kasimir/synth/find.h"

#include <algorithm>

namespace kasimir::kernelzoo {
namespace {

/// Fingerprints are of one small site, at which a group may be a single channel: equal ones are compared elsewhere.
bool computes_the_same(const Kernel& one, const Kernel& other) {
  const std::vector<SiteLoad> sites{conv_load({.ci = 64, .co = 64, .h = 8, .w = 8, .s = 1})};
  return compare(one, other, sites) != Agreement::refuted;
}

}  // namespace

std::vector<Entry> read_zoo(const std::vector<std::filesystem::path>& folders, Catalog catalog) {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder)) continue;  // a user's own is there once something was added
    for (const auto& found : std::filesystem::directory_iterator(folder))
      if (found.path().extension() == ".txt") files.push_back(found.path());
  }
  std::ranges::sort(
      files, [](const auto& a, const auto& b) { return std::pair(a.filename(), a) < std::pair(b.filename(), b); });
  std::vector<Entry> entries;
  for (const auto& file : files) {
    Entry entry = parse_entry(read_file(file), catalog, file);
    check_entry(entry);
    if (!entry.fingerprint) entry.fingerprint = fingerprint_of(entry.kernel);
    check_new(entry, entries);
    entries.push_back(std::move(entry));
  }
  return entries;
}

const Entry& entry_named(const std::vector<Entry>& entries, std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.kernel.name == name) return entry;
    known.push_back(entry.kernel.name);
  }
  throw input_error("the zoo has no kernel `{}`, {}", name, suggestion(name, known));
}

void check_new(const Entry& entry, const std::vector<Entry>& entries) {
  const std::string fingerprint = fingerprint_of(entry.kernel);
  for (const Entry& other : entries) {
    if (other.kernel.name == entry.kernel.name)
      throw input_error("{} and {} are both named `{}`", other.file.string(), entry.file.string(), entry.kernel.name)
          .note("give the kernel another name, in its first line");
    if (other.fingerprint.value_or(fingerprint_of(other.kernel)) == fingerprint &&
        computes_the_same(other.kernel, entry.kernel))
      throw input_error("the kernel of {} computes what `{}` computes, fingerprint {}", entry.file.string(),
                        other.kernel.name, fingerprint)
          .note(fmt::format("add what was measured to {}", other.file.string()));
  }
}

}  // namespace kasimir::kernelzoo
