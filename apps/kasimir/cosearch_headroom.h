// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch_run.h"

#include "kasimir/cosearch/headroom.h"

#include <filesystem>
#include <functional>
#include <optional>

namespace kasimir {

/// How far the joint optimum can beat choosing one thing after the other, on errors that the trainer's weights give as
/// they are. Errors are kept in `file`: where it is there, nothing is validated. Nothing where `go_on` said no.
/// @throws Error (input) for a file of another space.
std::optional<Headroom> find_headroom(CosearchSubject& subject, const ChoiceTrainer& trainer,
                                      const std::filesystem::path& file, const std::function<bool()>& go_on);

/// For result.json.
nlohmann::ordered_json to_json(const Headroom& headroom, const ChoiceSpace& space);

}  // namespace kasimir
