// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/c_expression.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kasimir {

/// What a generated function is given, in C.
struct CArgument {
  std::string type;   ///< "const float *"
  std::string name;   ///< in the function
  std::string value;  ///< where it is called
};

/// Names tensors in the order in which a function asks for their places.
class CArguments {
 public:
  /// `outside` gives the places where the function is called; `written` are the tensors that it writes; `bytes`
  /// says which tensors are of bytes.
  CArguments(PlaceOf outside, std::set<int> written, std::function<bool(int tensor)> bytes)
      : outside_(std::move(outside)), written_(std::move(written)), bytes_(std::move(bytes)) {}
  /// For what writes the body; valid as long as this object.
  [[nodiscard]] PlaceOf places();
  void add(CArgument argument) { all_.push_back(std::move(argument)); }
  [[nodiscard]] const std::vector<CArgument>& all() const { return all_; }

 private:
  PlaceOf outside_;
  std::set<int> written_;
  std::function<bool(int tensor)> bytes_;
  std::map<int, std::string> names_;
  std::vector<CArgument> all_;
};

/// The functions of one file, each text once: nests of layers of the same shape differ in their addresses only, and a
/// compiler takes as long as there is text.
class CFunctions {
 public:
  /// The call of a function with this body, which is written first where there is none yet. `letter` begins its name.
  std::string call(CText& text, char letter, const std::vector<CArgument>& arguments, const std::string& body);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::string> known_;  ///< parameters and body: name
  std::vector<std::string> names_;
};

}  // namespace kasimir
