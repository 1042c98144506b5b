// SPDX-License-Identifier: Apache-2.0
#include "fake.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/study/database.h"
#include "kasimir/study/query.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

namespace kasimir::study {
namespace {

/// "fault: text" of what `action` throws.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.fault()), error.what());
  }
  return "no error";
}

/// The same in a child process, for what cannot be undone: limits and rights given up.
template <typename Action>
std::string error_in_child(const Action& action) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = error_of(action);
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

/// Root may write anywhere: become nobody.
void give_up_rights() {
  if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) throw Error(Fault::bug, "still root");
}

void execute(const std::filesystem::path& path, const std::string& statement) {
  Database database(path, Database::Mode::write);
  Query(database, statement).run();
}

TEST(OpeningAStudy, SuggestsNearNamesForOneThatIsMissing) {
  const fake::Folder folder;
  fake::start(folder / "cifar.db", fake::spec(4));
  const std::string path = (folder / "cifr.db").string();
  EXPECT_EQ(error_of([&] { Store::view(path); }), "2: there is no study " + path + "\n  did you mean `cifar.db`?");
  EXPECT_EQ(error_of([&] { Store::join(path); }), "2: there is no study " + path + "\n  did you mean `cifar.db`?");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(OpeningAStudy, SaysThatAFolderHasNone) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  EXPECT_EQ(error_of([&] { Store::view(path); }),
            fmt::format("2: there is no study {}\n  no file in {} ends in .db", path, folder.path().string()));
}

TEST(OpeningAStudy, RefusesAFolder) {
  const fake::Folder folder;
  const std::string wanted = fmt::format(
      "2: {} is a folder, not a study\n"
      "  a study is a file such as first.db, or postgresql://USER@HOST/DATABASE#STUDY",
      folder.path().string());
  EXPECT_EQ(error_of([&] { fake::start(folder.path(), fake::spec(4)); }), wanted);
  EXPECT_EQ(error_of([&] { Store::view(folder.path()); }), wanted);
}

TEST(OpeningAStudy, NamesTheMissingFolder) {
  const fake::Folder folder;
  const std::string path = (folder / "runs/cifar.db").string();
  EXPECT_EQ(error_of([&] { fake::start(path, fake::spec(4)); }),
            fmt::format("2: cannot create study {}: there is no folder {}", path, (folder / "runs").string()));
}

TEST(OpeningAStudy, RefusesANewerSchema) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(4));
  execute(path, "update study set schema_version = 7");
  const std::string wanted = fmt::format(
      "2: study {} was written by a newer kasimir (schema 7, this one reads 1)\n"
      "  nothing was changed; use that version of kasimir, or give another --study",
      path);
  EXPECT_EQ(error_of([&] { fake::start(path, fake::spec(4)); }), wanted);
  EXPECT_EQ(error_of([&] { Store::join(path); }), wanted);
  EXPECT_EQ(error_of([&] { Store::view(path); }), wanted);
}

TEST(OpeningAStudy, RefusesAFileThatIsNoDatabaseAndLeavesItAlone) {
  const fake::Folder folder;
  const std::string path = (folder / "notes.db").string();
  const std::string content(5000, 'x');
  write_file(path, content);
  const std::string wanted = fmt::format(
      "2: {} is not a kasimir study: it is not an SQLite file\n  nothing was changed; give another --study", path);
  EXPECT_EQ(error_of([&] { fake::start(path, fake::spec(4)); }), wanted);
  EXPECT_EQ(error_of([&] { Store::view(path); }), wanted);
  EXPECT_EQ(read_file(path), content);
}

TEST(OpeningAStudy, RefusesTheDatabaseOfAnotherProgramAndLeavesItAlone) {
  const fake::Folder folder;
  const std::string path = (folder / "places.db").string();
  {
    Database other(path, Database::Mode::create);
    Query(other, "create table places (url text)").run();
  }
  const std::string before = read_file(path);
  const std::string wanted = fmt::format(
      "2: {} is not a kasimir study: it has no table `study`\n  nothing was changed; give another --study", path);
  EXPECT_EQ(error_of([&] { fake::start(path, fake::spec(4)); }), wanted);
  EXPECT_EQ(error_of([&] { Store::view(path); }), wanted);
  EXPECT_EQ(read_file(path), before);
}

TEST(OpeningAStudy, NamesTheOptionsThatDiffer) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(4));
  Json asked = fake::spec(4, 2);
  asked["network"] = "resnet20";
  asked["ladder"]["trials"] = 8;
  EXPECT_EQ(error_of([&] { fake::start(path, asked); }),
            fmt::format("2: study {} was started with other options\n"
                        "  network: resnet8 in the study, resnet20 asked\n"
                        "  seed: 1 in the study, 2 asked\n"
                        "  give another --study, or drop these options to go on with what the study has",
                        path));
  EXPECT_EQ(Store::view(path).info().spec, fake::spec(4));
}

TEST(OpeningAStudy, RefusesAPathThatSqlCannotTake) {
  EXPECT_EQ(error_of([] { Store::view("a\"b.db"); }),
            "2: the path of a study must not have quotes or line ends: a\"b.db");
}

TEST(OpeningAStudy, NamesTheTrialsThatExist) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  Store store = fake::start(path, fake::spec(4));
  EXPECT_EQ(error_of([&] { (void)store.trial(3); }), fmt::format("2: study {} has no trial 3: it has none yet", path));
  store.propose("w", 1000, 60);
  store.propose("w", 1000, 60);
  EXPECT_EQ(error_of([&] { (void)store.trial(3); }),
            fmt::format("2: study {} has no trial 3: its trials are 0 to 1", path));
}

TEST(ReadOnlyFolder, CannotHoldANewStudy) {
  const fake::Folder folder;
  ::chmod(folder.path().c_str(), 0555);
  const std::string path = (folder / "cifar.db").string();
  EXPECT_EQ(
      error_in_child([&] {
        give_up_rights();
        fake::start(path, fake::spec(4));
      }),
      fmt::format("4: cannot open study {} (Cannot establish connection to the database. unable to open database "
                  "file)\n  the file and its folder must be yours to write; if they are not, give another --study",
                  path));
}

TEST(ReadOnlyFolder, StillShowsItsStudies) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(4));
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(error_in_child([&] {
              give_up_rights();
              throw input_error("network {}", Store::view(path).info().spec.at("network").get<std::string>());
            }),
            "2: network resnet8");
}

TEST(ReadOnlyFolder, RefusesToGoOnWithAStudy) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(4));
  ::chmod(path.c_str(), 0444);
  ::chmod(folder.path().c_str(), 0555);
  const std::string text = error_in_child([&] {
    give_up_rights();
    fake::start(path, fake::spec(4));
  });
  EXPECT_EQ(text.substr(0, 23 + path.size()), fmt::format("4: cannot open study {} (", path)) << text;
  EXPECT_NE(text.find("the file and its folder must be yours to write"), std::string::npos) << text;
}

TEST(FullDisk, IsAnErrorAndLosesNothing) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(30));
  const std::string text = error_in_child([&] {
    // A file limit is what a disk without space is for one process, minus the signal.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200 * 1024, 200 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    run_worker(path, fake::ask(1), fake::evaluate());
  });
  EXPECT_EQ(text,
            fmt::format("4: cannot write study {}: the disk is full or refuses (sqlite3_statement_backend::loadOne:"
                        " disk I/O error)\n"
                        "  all finished work is kept; free some space and repeat the same command",
                        path));
  const Store before = Store::view(path);
  const auto counts = before.job_counts();
  EXPECT_GT(counts.at(Rung::quick).done, 0);
  EXPECT_LT(before.info().phase, rung_count);

  // With space again the search ends as if nothing had happened.
  std::vector<Job> done = before.jobs();
  std::erase_if(done, [](const Job& job) { return job.state != JobState::done; });
  WorkerOptions options;
  EXPECT_EQ(run_worker(path, fake::ask(1), fake::evaluate(), options), WorkerEnd::finished);
  const std::vector<Job> after = Store::view(path).jobs();
  for (const Job& job : done) {
    const auto same = std::find_if(after.begin(), after.end(), [&](const Job& j) { return j.id == job.id; });
    ASSERT_NE(same, after.end()) << job.id;
    EXPECT_EQ(same->finished, job.finished) << "job " << job.id << " was done twice";
  }
  const std::string other = (folder / "undisturbed.db").string();
  fake::start(other, fake::spec(30));
  run_worker(other, fake::ask(1), fake::evaluate());
  EXPECT_EQ(fake::outcome_text(Store::view(path)), fake::outcome_text(Store::view(other)));
}

TEST(FullDisk, ThatSqliteNoticesItselfHasTheSameText) {
  const fake::Folder folder;
  const std::string path = (folder / "cifar.db").string();
  fake::start(path, fake::spec(4));
  Database database(path, Database::Mode::write);
  int pages = 0;
  Query(database, "pragma max_page_count = 1").out(pages).next();
  const std::string text = error_of([&] {
    database.transact([&] {
      Query(database, "insert into events (id, at, kind, text, data) values (99, 0, '', :a, '')")
          .in(std::string(100000, 'x'))
          .run();
    });
  });
  EXPECT_EQ(text,
            fmt::format("4: cannot write study {}: the disk is full or refuses (sqlite3_statement_backend::loadOne:"
                        " database or disk is full)\n"
                        "  all finished work is kept; free some space and repeat the same command",
                        path));
  EXPECT_EQ(Store::view(path).events().size(), 1u);
}

}  // namespace
}  // namespace kasimir::study
