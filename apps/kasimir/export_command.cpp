// SPDX-License-Identifier: Apache-2.0
#include "kasimir/command.h"
#include "kasimir/options.h"
#include "kasimir/subject.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"
#include "kasimir/base/text.h"
#include "kasimir/codegen/export_c.h"
#include "kasimir/codegen/native.h"
#include "kasimir/codegen/onnx.h"
#include "kasimir/codegen/pytorch.h"
#include "kasimir/network/quantization_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

struct ExportCommand {
  std::vector<std::string> places;  ///< [STUDY] FOLDER
  SubjectOptions subject;
  std::string format;
  std::string python = "python3";
  std::int64_t batch = 1;
  int threads = 1;
  std::string cpu = "any";
  double tune = 0;
  std::string quantization;
  bool has_network = false;
};

/// What a format writes down.
struct Writing {
  const NetworkPlan& plan;
  const std::vector<NamedTensor>& weights;
  const ExportNotes& notes;
  const ExportCheck& check;
  const ExportCommand& options;
  const Quantization& quantization;
};

/// One way to write a network down, and how to run what was written.
struct Format {
  std::string_view name;
  std::vector<ExportedFile> (*write)(const Writing&);
  std::string_view modules;  ///< what Python needs to run it; empty: no Python, `make check` does
  std::string_view script;
};

std::vector<ExportedFile> write_pytorch(const Writing& of) { return export_pytorch(of.plan, of.weights, of.notes); }
std::vector<ExportedFile> write_onnx(const Writing& of) {
  return export_onnx(of.plan, of.weights, of.notes, of.quantization);
}
std::vector<ExportedFile> write_c(const Writing& of) {
  ExportCOptions options{.batch = of.options.batch, .threads = of.options.threads};
  options.quantization = of.quantization;
  if (of.options.cpu == "native") options.target = host_target();
  options.tune_seconds = of.options.tune;
  options.tuning_cache = tuning_cache_path();
  return export_c(of.plan, of.weights, of.notes, of.check, options);
}

constexpr std::array formats{Format{"pytorch", write_pytorch, "torch", "model.py"},
                             Format{"onnx", write_onnx, "onnxruntime, numpy", "check.py"},
                             Format{"c", write_c, "", "net_main"}};

const Format& format_of(const std::string& name) {
  std::vector<std::string> known;
  for (const Format& format : formats) {
    if (format.name == name) return format;
    known.emplace_back(format.name);
  }
  throw input_error("unknown format `{}`, {}", name, suggestion(name, known));
}

ImageSet noise(Shape3 shape, std::int64_t count) {
  ImageSet set{static_cast<int>(shape.c), static_cast<int>(shape.h), static_cast<int>(shape.w), {}, {}};
  Rng rng(1);
  set.labels.assign(static_cast<std::size_t>(count), 0);
  set.pixels.resize(set.labels.size() * set.image_bytes());
  for (std::uint8_t& pixel : set.pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  return set;
}

/// What to compare on: 256 images, fewer where they are large; noise where there are none.
ImageSet images_for(const Subject& subject) {
  constexpr std::int64_t most_numbers = 1 << 20;
  const Shape3 shape = subject.network->input();
  const std::int64_t count = std::clamp<std::int64_t>(most_numbers / (shape.c * shape.h * shape.w), 2, 256);
  if (!subject.data) return noise(shape, count);
  const ImageSet& test = subject.data->test;
  return select_images(test, stratified_subset(test.labels, std::min(count, test.size()), subject.spec->seed));
}

/// The images as the network reads them, and the model's own scores.
ExportCheck expected(const Subject& subject) {
  const ImageSet images = images_for(subject);
  ExportCheck check;
  check.images = images.size();
  check.input = planar_images(*subject.model, images);
  for (const auto& scores : subject.model->predict(images, every_index(images)))
    check.output.insert(check.output.end(), scores.begin(), scores.end());
  return check;
}

Error different(const std::filesystem::path& what, const Rejection& reason) {
  return Error(Fault::bug, fmt::format("{} computes something else than the network: {}", what.string(), reason.with))
      .note("this is a fault in kasimir, not in your input; please report it with the command");
}

/// Runs what was written: its last line. Rejected where Python lacks what that needs, and where there is nothing to
/// compare with.
Outcome<std::string> run_written(const Format& format, const ExportCheck& check, const std::filesystem::path& folder,
                                 const std::string& python) {
  if (!std::ranges::all_of(check.output, [](float score) { return std::isfinite(score); }))
    return Rejection{"the export is run", "the network itself gives scores that are no numbers, with these weights"};
  if (format.modules.empty()) {
    const auto made = run_command({"make", "--silent", "-C", folder.string(), "check"}, {.seconds = 600});
    if (made.ok()) return split(trim(*made), '\n').back();
    if (made.rejection().with.find("DIFFERENT") == std::string::npos) return made.rejection();
    throw different(folder, made.rejection());
  }
  const std::string import = fmt::format("import {}", format.modules);
  if (const auto found = run_command({python, "-c", import}); !found.ok())
    return Rejection{"the export is run", fmt::format("`{}` cannot `{}`; --python takes one that can", python, import)};
  const std::string script = folder / format.script;
  const auto done = run_command({python, script}, {.seconds = 600});
  if (!done.ok()) throw different(script, done.rejection());
  return split(trim(*done), '\n').back();  // libraries say other things first
}

void write(const Subject& subject, const Format& format, const std::filesystem::path& folder,
           const ExportCommand& options) {
  ExportNotes notes = subject.notes;
  const ChannelStatistics& pixels = subject.model->normalisation();
  notes.emplace_back("pixels", "(value / 255 - mean) / deviation, per channel");
  notes.emplace_back("mean", fmt::format("{}", fmt::join(pixels.mean, " ")));
  notes.emplace_back("deviation", fmt::format("{}", fmt::join(pixels.deviation, " ")));
  make_folder(folder);
  const ExportCheck check = expected(subject);
  std::vector<ExportedFile> files =
      format.write({subject.plan, subject.model->tensors(), notes, check, options, subject.model->quantization()});
  files.push_back(check_file(*subject.network, check));
  nlohmann::ordered_json record = {{"format", format.name}, {"program", "kasimir " KASIMIR_VERSION}};
  for (const auto& [key, value] : notes) record["notes"][key] = value;
  for (const ExportedFile& file : files) {
    write_file(folder / file.name, file.content);
    record["files"].push_back(file.name);
    fmt::print("wrote {}\n", (folder / file.name).string());
  }
  const auto checked = run_written(format, check, folder, options.python);
  if (checked.ok()) {
    record["checked"] = *checked;
    fmt::print("checked: {}\n", *checked);
  } else {
    record["not_checked"] = checked.rejection().with;
    fmt::print("not checked: {}\n", checked.rejection().with);
  }
  write_file(folder / "export.json", record.dump(2) + "\n");
}

int run(const ExportCommand& options) {
  const Format& format = format_of(options.format);
  const std::size_t needed = options.has_network ? 1 : 2;
  if (options.places.size() != needed)
    throw input_error("{} given, needed {}", options.places.size() == 1 ? "one place is" : "two places are",
                      options.has_network ? "a folder only, as --network says what to export" : "a study and a folder")
        .note(
            "write `kasimir export STUDY --trial N --to pytorch FOLDER` or "
            "`kasimir export --network resnet8 --to pytorch FOLDER`");
  if (options.tune > 0 && (options.cpu != "native" || options.format != "c"))
    throw input_error("--tune measures on this machine's processor").note("add --to c --cpu native");
  SubjectOptions of = options.subject;
  if (!options.has_network) of.study = options.places[0];
  if (!options.quantization.empty() && options.format == "pytorch")
    throw input_error("--quantization with --to pytorch")
        .note("needed is --to c or --to onnx: the PyTorch file holds a floating-point network");
  Subject subject = options.has_network ? subject_from_zoo(of) : subject_from_study(of);
  if (!options.quantization.empty()) {
    const Quantization quantization = parse_quantization(read_file(options.quantization), options.quantization);
    require_fits(subject.plan, quantization);
    subject.model->set_quantization(quantization);
    subject.notes.emplace_back("quantisation", options.quantization);
  }
  write(subject, format, options.places.back(), options);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("export", "writes a network with its kernels as PyTorch, ONNX or C");
  auto options = std::make_shared<ExportCommand>();
  command->add_option("places", options->places, "STUDY and FOLDER; with --network FOLDER only")
      ->required()
      ->expected(1, 2);
  command->add_option("--to", options->format, "pytorch, onnx or c")->required();
  command->add_option("--trial", options->subject.trial, "which trial of the study; 0 is the original network");
  command->add_flag(
      "--train", options->subject.train,
      "train the trial again, with the study's longest recipe; default: the weights that the search kept");
  command->add_option("--weights", options->subject.weights, "a saved model of this network");
  command->add_option("--quantization", options->quantization,
                      "with --to c or onnx: the file that `kasimir quantize` wrote; with its network.pt as --weights");
  command->add_option("--kernel", options->subject.kernel,
                      "with --network: a kernel's file, put in place of its convolutions");
  command->add_option("--seed", options->subject.common.seed, "with --network: of random weights")
      ->capture_default_str();
  command->add_option("--input", options->subject.common.input, "with --network: image size such as 3x224x224");
  command->add_option("--batch", options->batch, "with --to c: images of one run")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "with --to c: threads of one run (OpenMP)")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--cpu", options->cpu,
                   "with --to c: any (AVX-512, AVX2 and plain C in one file, chosen where it runs) or native (this "
                   "machine's processor only)")
      ->check(CLI::IsMember({"any", "native"}))
      ->capture_default_str();
  command
      ->add_option("--tune", options->tune,
                   "with --cpu native: about so many seconds of measuring each layer's methods; what was measured is "
                   "kept for the next time")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--python", options->python, "runs what was written")->capture_default_str();
  add_network_options(*command, options->subject.common);
  command->callback([options, command, &action] {
    options->has_network = command->count("--network") > 0;
    action = [options] { return run(*options); };
  });
}

}  // namespace kasimir
