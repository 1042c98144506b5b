// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

namespace kasimir::report {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> references{
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}}};

class Checker {
 public:
  explicit Checker(std::string_view page) : rest_(page) {}

  std::vector<std::string> run() {
    if (!rest_.starts_with("<!DOCTYPE html>\n")) faults_.emplace_back("no doctype");
    rest_.remove_prefix(std::min<std::size_t>(rest_.size(), 16));
    while (!rest_.empty()) step();
    for (const std::string& tag : open_) faults_.push_back("not closed: " + tag);
    for (const std::string& link : links_)
      if (!ids_.contains(link)) faults_.push_back("no id for the link " + link);
    return faults_;
  }

 private:
  void step() {
    const std::size_t end = rest_.find('<');
    check_text(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end, rest_.size()));
    static const std::regex tag(R"re(<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[A-Za-z][A-Za-z0-9:-]*="[^"<]*")*)\s*(/?)>)re");
    std::match_results<std::string_view::const_iterator> found;
    if (rest_.empty()) return;
    if (!std::regex_search(rest_.begin(), rest_.end(), found, tag, std::regex_constants::match_continuous)) {
      faults_.push_back(fmt::format("no tag: {}", rest_.substr(0, 60)));
      rest_.remove_prefix(1);
      return;
    }
    const std::string name = found[2].str();
    read_attributes(found[3].str());
    rest_.remove_prefix(static_cast<std::size_t>(found.length(0)));
    if (found.length(1) > 0) return close(name);
    if (found.length(4) > 0) return;
    open_.push_back(name);
    if (name == "script" || name == "style") rest_.remove_prefix(std::min(rest_.find("</" + name), rest_.size()));
  }

  void close(const std::string& name) {
    if (open_.empty() || open_.back() != name) {
      faults_.push_back(fmt::format("</{}> closes {}", name, open_.empty() ? "nothing" : open_.back()));
    } else {
      open_.pop_back();
    }
  }

  void read_attributes(const std::string& text) {
    static const std::regex attribute("([A-Za-z][A-Za-z0-9:-]*)=\"([^\"]*)\"");
    std::set<std::string> names;
    for (std::sregex_iterator it(text.begin(), text.end(), attribute), end; it != end; ++it) {
      const std::string name = (*it)[1].str();
      const std::string value = (*it)[2].str();
      check_text(value);
      if (!names.insert(name).second) faults_.push_back("twice in one tag: " + name);
      if (name == "id" && !ids_.insert("#" + value).second) faults_.push_back("twice on the page: id " + value);
      if (name == "href") links_.push_back(value);
    }
  }

  void check_text(std::string_view text) {
    for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
      const std::string part(text.substr(at, 8));
      static const std::regex reference("^&(lt|gt|quot|amp|#[0-9]+);");
      if (!std::regex_search(part, reference)) faults_.push_back("bare &: " + part);
    }
  }

  std::string_view rest_;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
  std::vector<std::string> links_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults_of(std::string_view page) { return Checker(page).run(); }

std::string with_plain_spaces(std::string text) {
  const std::string no_break = "\u00a0";
  for (std::size_t at = text.find(no_break); at != std::string::npos; at = text.find(no_break, at))
    text.replace(at, no_break.size(), " ");
  return text;
}

std::string text_of(std::string_view page) {
  std::string text;
  bool inside = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] == '<') inside = true;
    for (const std::string_view name : {"script", "style"})
      if (page.substr(i).starts_with(fmt::format("<{}>", name)))
        i = std::min(page.find(fmt::format("</{}>", name), i), page.size() - 1);
    if (!inside) text += page[i];
    if (page[i] == '>') inside = false;
  }
  text = with_plain_spaces(text);
  for (const auto& [reference, character] : references) {
    for (std::size_t at = text.find(reference); at != std::string::npos; at = text.find(reference, at + 1))
      text.replace(at, reference.size(), 1, character);
  }
  return text;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace kasimir::report
