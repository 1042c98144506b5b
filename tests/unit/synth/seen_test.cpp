// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/seen.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <set>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

class Seen : public ::testing::Test {
 protected:
  Seen() {
    fs::create_directories(folder);
    fs::remove(path);
  }
  ~Seen() override { fs::remove_all(folder); }

  const fs::path folder = fs::temp_directory_path() / fmt::format("kasimir-seen-{}", ::getpid());
  const fs::path path = folder / "seen";
  static constexpr std::uint64_t space = 0xABCD;
  static constexpr std::size_t header = sizeof("kasimir seen-set 2 of space 000000000000abcd\n") - 1;
  static constexpr std::size_t record = 48;

  void append(std::string_view bytes) const { write_file(path, read_file(path) + std::string(bytes)); }
  /// Three kernels that have nothing in common.
  void fill() const {
    SeenSet set(path, space);
    for (std::uint64_t i = 1; i <= 3; ++i) set.add(kernel(i, i, 10.0));
    set.flush();
  }
  static Kinship kernel(std::uint64_t form, std::uint64_t function, double cost) {
    return {{form, 2 * form}, Fingerprint{function, 3 * function}, cost};
  }
  std::string message() const {
    try {
      const SeenSet set(path, space);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Seen, TellsFormsFromFunctionsAndKeepsTheCheapest) {
  SeenSet set(path, space);
  EXPECT_EQ(set.add(kernel(1, 1, 10.0)), Novelty::fresh);
  EXPECT_EQ(set.add(kernel(1, 1, 10.0)), Novelty::same_form);
  EXPECT_EQ(set.add(kernel(2, 1, 10.0)), Novelty::same_function);
  EXPECT_EQ(set.add(kernel(3, 1, 9.0)), Novelty::cheaper);
  EXPECT_EQ(set.add(kernel(4, 1, 9.5)), Novelty::same_function);
  EXPECT_EQ(set.add(kernel(3, 1, 9.0)), Novelty::same_form);
  EXPECT_EQ(set.add({{5, 5}, std::nullopt, 1.0}), Novelty::fresh);
  EXPECT_EQ(set.add({{6, 6}, std::nullopt, 1.0}), Novelty::fresh);
  EXPECT_EQ(set.add({{5, 5}, std::nullopt, 1.0}), Novelty::same_form);
  EXPECT_EQ(set.records(), 4U);
}

TEST_F(Seen, KeepsAKernelWhoseFunctionOnlySeemedToBeKnown) {
  SeenSet set(path, space);
  const auto yes = [] { return true; };
  const auto no = [] { return false; };
  EXPECT_EQ(set.add(kernel(1, 1, 10.0), yes), Novelty::fresh);
  EXPECT_EQ(set.add(kernel(1, 1, 10.0), yes), Novelty::same_form);
  EXPECT_EQ(set.add(kernel(2, 1, 10.0), no), Novelty::same_function);
  EXPECT_EQ(set.add(kernel(2, 1, 10.0), yes), Novelty::told_apart);
  EXPECT_EQ(set.add(kernel(2, 1, 10.0), no), Novelty::same_form);
  EXPECT_EQ(set.records(), 2U);
}

TEST_F(Seen, IsTheSameAfterItIsOpenedAgain) {
  {
    SeenSet set(path, space);
    EXPECT_EQ(set.add(kernel(1, 1, 10.0)), Novelty::fresh);
    EXPECT_EQ(set.add({{7, 8}, std::nullopt, 4.0}), Novelty::fresh);
    set.flush();
    EXPECT_EQ(set.add(kernel(2, 1, 5.0)), Novelty::cheaper);
    set.flush();
    EXPECT_EQ(set.add(kernel(9, 9, 1.0)), Novelty::fresh);  // lost: not flushed
  }
  EXPECT_EQ(fs::file_size(path), header + 3 * record);
  SeenSet set(path, space);
  EXPECT_EQ(set.records(), 3U);
  EXPECT_EQ(set.dropped_bytes(), 0U);
  EXPECT_EQ(set.add(kernel(1, 1, 10.0)), Novelty::same_form);
  EXPECT_EQ(set.add(kernel(3, 1, 6.0)), Novelty::same_function);
  EXPECT_EQ(set.add({{7, 8}, std::nullopt, 4.0}), Novelty::same_form);
  EXPECT_EQ(set.add(kernel(9, 9, 1.0)), Novelty::fresh);
}

TEST_F(Seen, CutsOffATailThatWasHalfWritten) {
  for (std::size_t cut = 1; cut < record; ++cut) {
    fs::remove(path);
    fill();
    fs::resize_file(path, header + 3 * record - cut);
    {
      SeenSet set(path, space);
      EXPECT_EQ(set.records(), 2U) << cut;
      EXPECT_EQ(set.dropped_bytes(), record - cut);
      EXPECT_EQ(set.add(kernel(3, 3, 10.0)), Novelty::fresh);
      set.flush();
    }
    SeenSet set(path, space);
    EXPECT_EQ(set.records(), 3U);
    EXPECT_EQ(set.dropped_bytes(), 0U);
  }
}

TEST_F(Seen, CutsOffATailThatIsNoRecord) {
  fill();
  append(std::string(2 * record, '\0'));
  SeenSet set(path, space);
  EXPECT_EQ(set.records(), 3U);
  EXPECT_EQ(set.dropped_bytes(), 2 * record);
  EXPECT_EQ(fs::file_size(path), header + 3 * record);
}

TEST_F(Seen, BeginsAnewWhereEvenTheFirstLineIsCutShort) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, header - 1}) {
    fs::remove(path);
    fill();
    fs::resize_file(path, size);
    {
      const SeenSet set(path, space);
      EXPECT_EQ(set.records(), 0U);
      EXPECT_EQ(set.dropped_bytes(), size);
    }
    EXPECT_EQ(read_file(path), "kasimir seen-set 2 of space 000000000000abcd\n");
  }
}

TEST_F(Seen, RefusesARecordThatIsDamagedBeforeWholeOnes) {
  fill();
  std::string content = read_file(path);
  content[header + record + 5] = static_cast<char>(content[header + record + 5] ^ 1);
  write_file(path, content);
  EXPECT_EQ(message(), fmt::format("record 2 of {} is damaged, and others after it are whole\n"
                                   "  the first {} bytes can be trusted: keep them, or begin a new file",
                                   path.string(), header + record));
  EXPECT_EQ(read_file(path), content);
}

TEST_F(Seen, RefusesOtherFilesVersionsAndSpaces) {
  write_file(path, "kernel k\n");
  EXPECT_EQ(message(), fmt::format("{} is no set of kernels that were seen\n"
                                   "  needed: a new name, or a file that begins with `kasimir seen-set `",
                                   path.string()));
  for (const char* line :
       {"kasimir seen-set 9 of space 000000000000abcd", "kasimir seen-set 2 of space 0000000000000001"}) {
    write_file(path, std::string(line) + "\nrest");
    EXPECT_EQ(message(), fmt::format("{} is of another version, or of other sites or primitives\n"
                                     "  found: {}\n"
                                     "  needed: kasimir seen-set 2 of space 000000000000abcd",
                                     path.string(), line));
  }
}

TEST_F(Seen, IsOpenInOneProcessAtATime) {
  {
    const SeenSet set(path, space);
    EXPECT_EQ(message(), fmt::format("{} is in use by another process\n"
                                     "  wait until that ends, or name another file",
                                     path.string()));
  }
  EXPECT_EQ(message(), "");
}

TEST_F(Seen, NamesAFolderThatIsMissing) {
  try {
    const SeenSet set(folder / "none" / "seen", space);
    ADD_FAILURE() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::system);
    EXPECT_EQ(error.message(),
              fmt::format("cannot open {}: No such file or directory", (folder / "none/seen").string()));
  }
}

Sampler sampler_of(std::uint64_t seed) {
  SampleOptions options;
  options.limits.min_primitives = 2;
  options.limits.max_primitives = 4;
  return {catalog(), testing::resnet8_loads(), options, seed};
}

struct Drawn {
  std::vector<std::string> texts;
  SampleStats stats;
};

Drawn draw_into(const fs::path& path, std::uint64_t seed, int threads, std::size_t count) {
  const Sampler sampler = sampler_of(seed);
  SeenSet set(path, sampler.space());
  Drawn result;
  result.stats = sample(
      sampler, count, 20'000, threads, [&](const Sampled& sampled) { result.texts.push_back(str(sampled.kernel)); },
      &set);
  return result;
}

std::uint64_t of(const Drawn& drawn, Novelty novelty) { return drawn.stats.seen[static_cast<std::size_t>(novelty)]; }

TEST_F(Seen, LeavesOutWhatEarlierRunsFound) {
  const Drawn first = draw_into(path, 1, 1, 100);
  const Drawn second = draw_into(path, 1, 1, 100);
  ASSERT_EQ(first.texts.size(), 100U);
  ASSERT_EQ(second.texts.size(), 100U);
  std::set<std::string> all(first.texts.begin(), first.texts.end());
  all.insert(second.texts.begin(), second.texts.end());
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(of(first, Novelty::fresh) + of(first, Novelty::cheaper), 100U);
  // The attempts are the same up to where the first run ended.
  EXPECT_GE(of(second, Novelty::same_form), 95U);
  EXPECT_GT(second.stats.attempts, first.stats.attempts);
  for (const Drawn* one : {&first, &second})
    EXPECT_EQ(one->stats.legal, one->stats.same_text + of(*one, Novelty::fresh) + of(*one, Novelty::cheaper) +
                                    of(*one, Novelty::same_form) + of(*one, Novelty::same_function));
}

TEST_F(Seen, IsTheSameOnAnyNumberOfThreads) {
  const Drawn one = draw_into(path, 2, 1, 150);
  const std::string file = read_file(path);
  fs::remove(path);
  const Drawn three = draw_into(path, 2, 3, 150);
  EXPECT_EQ(one.texts, three.texts);
  EXPECT_EQ(one.stats.seen, three.stats.seen);
  EXPECT_EQ(file, read_file(path));
  EXPECT_GT(of(one, Novelty::same_form) + of(one, Novelty::same_function), 0U);
}

TEST_F(Seen, HasAnotherSpaceAtOtherSites) {
  const Sampler here = sampler_of(1);
  EXPECT_EQ(here.space(), sampler_of(2).space());
  EXPECT_NE(here.space(), Sampler(catalog(), {testing::conv_load({16, 16, 8, 8, 1})}, {}, 1).space());
}

}  // namespace
}  // namespace kasimir
