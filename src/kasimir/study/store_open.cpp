// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/study/ladder_config.h"
#include "kasimir/study/query.h"
#include "kasimir/study/store.h"

namespace kasimir::study {
namespace {

/// Refuses what is not a study of a schema that this version knows.
void check_schema(Database& database) {
  const std::string name = database.place().str();
  int schema = 0;
  if (!database.has_table("study") ||
      !Query(database, "select schema_version from study where id = 1").out(schema).next()) {
    throw input_error("{} is not a kasimir study: it has no table `study`", name)
        .note("nothing was changed; give another --study");
  }
  if (schema > schema_version) {
    throw input_error("study {} was written by a newer kasimir (schema {}, this one reads {})", name, schema,
                      schema_version)
        .note("nothing was changed; use that version of kasimir, or give another --study");
  }
}

void create(Database& database, const Json& spec, std::string_view program, std::string_view machine, double now) {
  database.create_tables();
  Query insert(
      database,
      "insert into study (id, schema_version, program, machine, created, spec, phase, active_seconds, "
      "active_mark, next_trial, rejected_trials, next_fence) values (1, :a, :b, :c, :d, :e, 0, 0, :f, 0, 0, 1)");
  insert.in(schema_version, program, machine, now, spec, now).run();
}

/// The resumable keys that differ, as "trials 20 -> 40".
std::vector<std::string> take_over(Json& stored, const Json& asked) {
  std::vector<std::string> changes;
  for (const std::string& key : resumable_keys()) {
    std::string path;
    for (const std::string& part : split(key, '.')) path += "/" + part;
    const Json::json_pointer pointer(path);
    if (!asked.contains(pointer)) continue;
    const Json before = stored.contains(pointer) ? stored.at(pointer) : Json();
    const Json& after = asked.at(pointer);
    if (before == after) continue;
    changes.push_back(fmt::format("{} {} -> {}", split(key, '.').back(), before.dump(), after.dump()));
    stored[pointer] = after;
  }
  return changes;
}

}  // namespace

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const StudyPlace& Store::place() const { return database_->place(); }

Store Store::start(const StudyPlace& place, const Json& spec, std::string_view program, std::string_view machine,
                   double now) {
  KASIMIR_CHECK(spec.is_object() && spec.contains("ladder"), "the spec has no ladder: {}", spec.dump());
  Store store(std::make_unique<Database>(place, Database::Mode::create));
  Database& database = *store.database_;
  if (!database.empty()) check_schema(database);
  database.prepare_to_write();
  database.transact([&] {
    if (database.empty()) {
      create(database, spec, program, machine, now);
      store.add_event(now, "study", fmt::format("study {} created by {}", place.str(), program), Json::object());
      return;
    }
    check_schema(database);
    store.resumed_ = true;
    StudyInfo info = store.info();
    if (const auto differences = spec_differences(info.spec, spec); !differences.empty()) {
      Error error = input_error("study {} was started with other options", place.str());
      for (const std::string& line : differences) error.note(line);
      throw error.note("give another --study, or drop these options to go on with what the study has");
    }
    const Json before = info.spec;
    const std::vector<std::string> changes = take_over(info.spec, spec);
    Query(database, "update study set spec = :a where id = 1").in(info.spec).run();
    // More trials or time can mean new candidates: every phase is asked again; jobs that exist are not repeated.
    LadderConfig old_ladder = LadderConfig::from_json(before.at("ladder"));
    const LadderConfig ladder = LadderConfig::from_json(info.spec.at("ladder"));
    old_ladder.workers = ladder.workers;
    if (ladder != old_ladder) store.set_phase(0);
    const std::string how = changes.empty() ? "" : " with " + kasimir::join(changes, ", ");
    store.add_event(now, "resume", fmt::format("study {} resumed{}", place.str(), how), Json(changes));
  });
  return store;
}

Store Store::join(const StudyPlace& place) {
  Store store(std::make_unique<Database>(place, Database::Mode::write));
  check_schema(*store.database_);
  store.database_->prepare_to_write();
  store.resumed_ = true;
  return store;
}

Store Store::view(const StudyPlace& place) {
  Store store(std::make_unique<Database>(place, Database::Mode::read));
  check_schema(*store.database_);
  store.database_->forbid_writes();
  store.resumed_ = true;
  return store;
}

}  // namespace kasimir::study
