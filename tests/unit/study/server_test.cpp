// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "fake.h"
#include "kasimir/base/error.h"
#include "kasimir/study/database.h"
#include "kasimir/study/query.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir::study {
namespace {

using kasimir::testing::thrown_by;

TEST(StudyPlace, IsAFileOrASchemaOnAServer) {
  const StudyPlace file("runs/first.db");
  EXPECT_FALSE(file.on_server());
  EXPECT_EQ(file.file(), "runs/first.db");
  EXPECT_EQ(file.str(), "runs/first.db");
  EXPECT_EQ(file.beside(".html"), "runs/first.html");
  const StudyPlace named("postgresql://me@host:5432/lab?sslmode=require#first.run");
  EXPECT_TRUE(named.on_server());
  EXPECT_EQ(named.address(), "postgresql://me@host:5432/lab?sslmode=require");
  EXPECT_EQ(named.schema(), "first.run");
  EXPECT_EQ(named.beside(".html"), "first.run.html");
  EXPECT_EQ(StudyPlace("postgres://host/lab").schema(), "kasimir");
}

TEST(StudyPlace, ShowsNoPassword) {
  const StudyPlace place("postgresql://me:se:cr@et@host/lab#first");
  EXPECT_EQ(place.str(), "postgresql://me@host/lab#first");
  EXPECT_EQ(place.text(), "postgresql://me:se:cr@et@host/lab#first");
  EXPECT_EQ(StudyPlace("postgresql://host:5432/lab#first").str(), "postgresql://host:5432/lab#first");
  EXPECT_EQ(StudyPlace("postgresql://host/lab?user=me&password=secret&x=y#a").str(),
            "postgresql://host/lab?user=me&password=...&x=y#a");
  EXPECT_EQ(StudyPlace("postgresql://host/lab?password=secret").str(), "postgresql://host/lab?password=...");
}

TEST(StudyPlace, RefusesNamesThatAServerWouldChange) {
  const char* wanted =
      "2: `First` cannot be the name of a study on a server\n"
      "  up to 63 small letters, digits, `_`, `-` and `.` behind the `#` of postgresql://me@host/lab";
  EXPECT_EQ(thrown_by([] { return StudyPlace("postgresql://me:secret@host/lab#First").str(); }), wanted);
  EXPECT_EQ(thrown_by([] { return StudyPlace("postgres://h/l#").str(); }),
            "2: `` cannot be the name of a study on a server\n"
            "  up to 63 small letters, digits, `_`, `-` and `.` behind the `#` of postgres://h/l");
  EXPECT_NE(thrown_by([] { return StudyPlace("postgres://h/l#" + std::string(64, 'a')).str(); }), "");
}

TEST(StudyServer, ThatDoesNotAnswerIsNamed) {
  const std::string text =
      thrown_by([] { return Store::view("postgresql://me:secret@localhost:1/lab#first").place().str(); });
  EXPECT_TRUE(text.starts_with("4: cannot reach study postgresql://me@localhost:1/lab#first (")) << text;
  EXPECT_TRUE(
      text.ends_with(")\n  the address is postgresql://USER@HOST:PORT/DATABASE#STUDY; a password is read from "
                     "~/.pgpass or PGPASSWORD"))
      << text;
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

class OnAServer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (server == nullptr) GTEST_SKIP() << fake::no_server;
  }
  fake::Server* server = fake::Server::shared();
};

TEST_F(OnAServer, AMissingStudyIsNamedWithItsNeighbours) {
  fake::start(server->study("cifar"), fake::spec(4));
  const std::string place = server->study("cifr");
  const std::string wanted = fmt::format("2: there is no study {}\n  did you mean `cifar`?", place);
  EXPECT_EQ(thrown_by([&] { return Store::view(place).place().str(); }), wanted);
  EXPECT_EQ(thrown_by([&] { return Store::join(place).place().str(); }), wanted);
}

TEST_F(OnAServer, TablesOfOthersAreLeftAlone) {
  const std::string place = server->study("places");
  {
    Database other(place, Database::Mode::create);
    Query(other, "create table places (url text)").run();
  }
  EXPECT_EQ(thrown_by([&] { return fake::start(place, fake::spec(4)).place().str(); }),
            fmt::format("2: {} is not a kasimir study: it has no table `study`\n"
                        "  nothing was changed; give another --study",
                        place));
}

TEST_F(OnAServer, AViewDoesNotWrite) {
  const std::string place = server->fresh_study();
  fake::start(place, fake::spec(4));
  Store view = Store::view(place);
  const std::string text = thrown_by([&] {
    view.set_phase(2);
    return 0;
  });
  EXPECT_TRUE(text.starts_with(fmt::format("4: the server does not let you use study {} (", place))) << text;
  EXPECT_EQ(view.info().phase, 0);
}

TEST_F(OnAServer, NothingIsLostWhenItDies) {
  const std::string place = server->fresh_study();
  Store store = fake::start(place, fake::spec(4));
  store.set_phase(1);
  server->stop();
  const std::string text = thrown_by([&] {
    store.set_phase(2);
    return 0;
  });
  EXPECT_TRUE(text.starts_with(fmt::format("4: the connection to study {} was lost (", place))) << text;
  EXPECT_TRUE(text.ends_with(")\n  all finished work is kept; repeat the same command when the server is back"));
  server->start();
  EXPECT_EQ(Store::view(place).info().phase, 1);
  EXPECT_EQ(run_worker(place, fake::ask(1), fake::evaluate()), WorkerEnd::finished);
}

}  // namespace
}  // namespace kasimir::study
