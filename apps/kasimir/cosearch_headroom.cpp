// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch_headroom.h"

#include "kasimir/base/files.h"
#include "kasimir/base/stopwatch.h"

#include <unistd.h>

namespace kasimir {
namespace {

namespace fs = std::filesystem;

bool fits(const ChoiceTable& errors, const ChoiceSpace& space) {
  const ChoiceTable like = choice_table(space);
  bool same = errors.size() == like.size();
  for (std::size_t l = 0; same && l < like.size(); ++l) {
    same = errors[l].size() == like[l].size();
    for (std::size_t o = 0; same && o < like[l].size(); ++o) same = errors[l][o].size() == like[l][o].size();
  }
  return same;
}

ChoiceTable errors_in(const fs::path& file, const ChoiceSpace& space) {
  const auto json = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
  ChoiceTable errors;
  if (json.is_object() && json.contains("errors")) errors = json["errors"].get<ChoiceTable>();
  if (!fits(errors, space))
    throw input_error("{} holds no errors of this space", file.string()).note("remove it to have them measured again");
  return errors;
}

}  // namespace

std::optional<Headroom> find_headroom(CosearchSubject& subject, const ChoiceTrainer& trainer, const fs::path& file,
                                      const std::function<bool()>& go_on) {
  if (fs::exists(file)) return headroom(*subject.hardware, errors_in(file, subject.choices), subject.goal);
  const Stopwatch watch;
  double next = 0;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto errors =
      measured_errors(subject.choices, trainer, subject.reference, [&](std::size_t done, std::size_t of) {
        if (terminal) fmt::print(stderr, "\r{:100}\rheadroom: {} of {} validations", "", done, of);
        if (!terminal && (watch.seconds() >= next || done == of)) {
          fmt::print(stderr, "headroom: {} of {} validations\n", done, of);
          next = watch.seconds() + 20;
        }
        return go_on();
      });
  if (terminal) fmt::print(stderr, "\r{:100}\r", "");
  if (!errors) return std::nullopt;
  const Headroom found = headroom(*subject.hardware, *errors, subject.goal);
  nlohmann::ordered_json json = to_json(found, subject.choices);
  json["reference"] = str(subject.reference, subject.choices);
  json["seconds"] = watch.seconds();
  json["errors"] = *errors;
  write_file(file, json.dump(1) + "\n");
  return found;
}

nlohmann::ordered_json to_json(const Headroom& headroom, const ChoiceSpace& space) {
  nlohmann::ordered_json json{{"found", headroom.found}};
  if (!headroom.found) return json;
  json["exact"] = headroom.exact;
  json["error"] = headroom.error;
  json["design"] = str(headroom.design, space);
  for (const ChosenInTurn& way : headroom.ways) {
    nlohmann::ordered_json one{{"way", way.way}, {"found", way.found}};
    if (way.found) {
      one["error"] = way.error;
      one["excess"] = way.excess;
    }
    json["ways"].push_back(std::move(one));
  }
  return json;
}

}  // namespace kasimir
