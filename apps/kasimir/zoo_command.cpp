// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/kernel_zoo.h"
#include "kasimir/zoo_list.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/kernelzoo/facts.h"
#include "kasimir/kernelzoo/folder.h"
#include "kasimir/primitive/catalog.h"

#include <algorithm>

namespace kasimir {
namespace {

struct ZooAdd {
  std::string source;
  int trial = -1;
  std::string name;
  std::string brief;
  std::string folder;
};

std::vector<std::filesystem::path> folders_of(const std::vector<std::string>& given) {
  if (given.empty()) return zoo_folders();
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : given) {
    if (!std::filesystem::is_directory(folder)) throw input_error("there is no folder {}", folder);
    folders.emplace_back(folder);
  }
  return folders;
}

int add(const ZooAdd& options) {
  const auto usual = zoo_folders();
  const std::filesystem::path folder = options.folder.empty() ? usual.front() : std::filesystem::path(options.folder);
  kernelzoo::Entry entry;
  if (options.trial >= 0) {
    entry = zoo_entry_of(options.source, options.trial, options.name);
    entry.brief = options.brief;
    entry.file = folder / (entry.kernel.name + ".txt");
    entry.text = str(entry);
  } else {
    if (!options.name.empty() || !options.brief.empty())
      throw input_error("--name and --brief are for a trial of a study: a file says both itself");
    entry = kernelzoo::parse_entry(read_file(options.source), catalog(), options.source);
  }
  // What was written is what is checked, whoever wrote it.
  kernelzoo::check_entry(kernelzoo::parse_entry(entry.text, catalog(), entry.file));
  auto folders = usual;
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  kernelzoo::check_new(entry, kernelzoo::read_zoo(folders, catalog()));
  make_folder(folder);
  const auto target = folder / (entry.kernel.name + ".txt");
  write_file(target, entry.text);
  fmt::print("wrote {}\n", target.string());
  return 0;
}

int check(const std::vector<std::string>& given) {
  const auto entries = kernelzoo::read_zoo(folders_of(given), catalog());
  std::size_t results = 0;
  for (const kernelzoo::Entry& entry : entries) results += entry.results.size();
  fmt::print(
      "{} kernels, {} results: each is legal where it was measured, costs what it claims, and computes what no "
      "other does\n",
      entries.size(), results);
  return 0;
}

const char* const folder_help = "folder to read instead of the user's and the program's own; may be repeated";

void add_list(CLI::App& command, Action& action) {
  auto* listed = command.add_subcommand("list", "kernels with their sizes and what was measured of them");
  listed->footer(
      "A row is a kernel in a network: those in which it was measured, or the one of --network. MACs and parameters "
      "are "
      "worked out for the whole network, over the original's.");
  auto options = std::make_shared<ZooList>();
  auto folders = std::make_shared<std::vector<std::string>>();
  listed->add_option("--network", options->network, "show every kernel in this network of the zoo of networks");
  listed->add_option("--input", options->input, "with --network: image size such as 3x32x32");
  listed->add_option("--within", options->within,
                     "only what keeps macs=LOW..HIGH,params=LOW..HIGH,latency=LOW..HIGH, over the original's");
  listed->add_option("--label", options->label,
                     "only kernels with these labels: as --want of `kasimir search`, or a bare name for NAME=yes");
  listed->add_option("--primitive", options->primitives, "only kernels with each of these primitives")->delimiter(',');
  listed->add_flag("--measured", options->measured, "only rows with an accuracy or a latency");
  listed->add_option("--sort", options->sort, "name, macs, params, accuracy (drop below the original's) or latency")
      ->check(CLI::IsMember({"name", "macs", "params", "accuracy", "latency"}))
      ->capture_default_str();
  listed->add_flag("--json", options->json, "one object per row and line, with all that the files hold");
  listed->add_option("--zoo", *folders, folder_help);
  listed->callback([options, folders, &action] {
    action = [options, folders] {
      list_zoo(kernelzoo::read_zoo(folders_of(*folders), catalog()), *options);
      return 0;
    };
  });
}

}  // namespace

void add_zoo(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("zoo", "kernels that were found, with what was measured of them");
  command->require_subcommand(1);
  command->footer("One text file per kernel, docs/zoo.md says how it is written.");
  add_list(*command, action);

  auto* shown = command->add_subcommand("show", "a kernel's file and its labels");
  auto name = std::make_shared<std::string>();
  auto folders = std::make_shared<std::vector<std::string>>();
  shown->add_option("kernel", *name, "its name")->required();
  shown->add_option("--zoo", *folders, folder_help);
  shown->callback([name, folders, &action] {
    action = [name, folders] {
      show_entry(kernelzoo::entry_named(kernelzoo::read_zoo(folders_of(*folders), catalog()), *name));
      return 0;
    };
  });

  auto* added = command->add_subcommand("add", "adds a file, or a finalist of a study with what it measured");
  auto options = std::make_shared<ZooAdd>();
  added->add_option("source", options->source, "a kernel's file, or with --trial a study")->required();
  added->add_option("--trial", options->trial, "which finalist of the study")->check(CLI::Range(0, 1'000'000'000));
  added->add_option("--name", options->name, "with --trial: the kernel's name in the zoo");
  added->add_option("--brief", options->brief, "with --trial: one sentence that says what it does");
  added->add_option("--zoo", options->folder, "folder to write to (default: this user's)");
  added->callback([options, &action] { action = [options] { return add(*options); }; });

  auto* checked = command->add_subcommand("check", "works out everything that the files claim");
  auto places = std::make_shared<std::vector<std::string>>();
  checked->add_option("folders", *places, folder_help);
  checked->callback([places, &action] { action = [places] { return check(*places); }; });
}

}  // namespace kasimir
