// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kasimir {

/// The content of a gzip file, which may have several members. `name` is the file's, for messages.
/// @throws Error (input) if it ends early, is damaged, or its checksum does not match.
std::string gunzip(std::string_view packed, std::string_view name);

}  // namespace kasimir
