// SPDX-License-Identifier: Apache-2.0
#include "kasimir/search_spec.h"

#include "kasimir/base/error.h"

namespace kasimir {

using Json = nlohmann::json;

Json SearchSpec::to_json() const {
  Json rung_list = Json::array();
  for (const RungPlan& rung : rungs) rung_list.push_back({{"epochs", rung.epochs}, {"images", rung.images}});
  Json json = {{"network", network},
               {"data", data},
               {"width", width},
               {"replace", replace},
               {"keep", keep},
               {"budget", budget},
               {"primitives", {min_primitives, max_primitives}},
               {"max_width", max_width},
               {"allow", allow},
               {"forbid", forbid},
               {"require", require},
               {"allow_global", allow_global},
               {"allow_pointwise", allow_pointwise},
               {"allow_unmixed", allow_unmixed},
               {"allow_resolution", allow_resolution},
               {"seed", seed},
               {"validation", validation},
               {"rungs", rung_list},
               {"learning_rate", learning_rate},
               {"batch", batch},
               {"label_smoothing", label_smoothing},
               {"flip", flip},
               {"train_limit", train_limit},
               {"slowest", slowest},
               {"latency_batch", latency_batch},
               {"latency_threads", latency_threads},
               {"device", device},
               {"ladder", ladder.to_json()}};
  // Only what studies from before it did not have: with --composites 0 --latency eager they go on.
  if (composites > 0) json["composites"] = composites;
  if (latency != "eager") json["latency_engine"] = latency;
  if (latency_tune > 0) json["latency_tune"] = latency_tune;
  if (!want.empty()) json["want"] = want;
  if (is_onnx_file(network) && norms == Norms::restore) json["norms"] = "restore";
  json.update(reading.to_json());
  if (!accelerator.name.empty()) {
    json["accelerator"] = accelerator.name;
    json["accelerator_objective"] = accelerator.objective;
    json["accelerator_bits"] = accelerator.bits;
  }
  if (!quick_size.empty()) json["quick_size"] = quick_size;
  if (strategy != "random") json["strategy"] = strategy;
  if (!seed_kernels.empty()) json["seed_kernels"] = seed_kernels;
  if (train_kernels != "aten") json["train_kernels"] = train_kernels;
  if (!scores.empty()) json["scores"] = scores;
  if (score_keep < 1) json["score_keep"] = score_keep;
  if (full_label_smoothing) json["full_label_smoothing"] = *full_label_smoothing;
  if (full_average > 0) json["full_average"] = full_average;
  if (distill > 0) {
    json["distill"] = distill;
    json["distill_temperature"] = distill_temperature;
  }
  return json;
}

SearchSpec SearchSpec::from_json(const Json& json) {
  SearchSpec spec;
  try {
    json.at("network").get_to(spec.network);
    json.at("data").get_to(spec.data);
    json.at("width").get_to(spec.width);
    json.at("replace").get_to(spec.replace);
    json.at("keep").get_to(spec.keep);
    json.at("budget").get_to(spec.budget);
    json.at("primitives").at(0).get_to(spec.min_primitives);
    json.at("primitives").at(1).get_to(spec.max_primitives);
    json.at("max_width").get_to(spec.max_width);
    json.at("allow").get_to(spec.allow);
    json.at("forbid").get_to(spec.forbid);
    json.at("require").get_to(spec.require);
    json.at("allow_global").get_to(spec.allow_global);
    json.at("allow_pointwise").get_to(spec.allow_pointwise);
    json.at("allow_unmixed").get_to(spec.allow_unmixed);
    json.at("allow_resolution").get_to(spec.allow_resolution);
    spec.want = json.value("want", "");
    spec.accelerator = {json.value("accelerator", ""), json.value("accelerator_objective", spec.accelerator.objective),
                        json.value("accelerator_bits", spec.accelerator.bits)};
    spec.quick_size = json.value("quick_size", "");
    spec.norms = json.value("norms", "keep") == "restore" ? Norms::restore : Norms::keep;
    spec.reading = DataOptions::from_json(json);
    spec.strategy = json.value("strategy", "random");
    spec.seed_kernels = json.value("seed_kernels", spec.seed_kernels);
    spec.scores = json.value("scores", spec.scores);
    spec.train_kernels = json.value("train_kernels", spec.train_kernels);
    if (json.contains("full_label_smoothing")) spec.full_label_smoothing = json["full_label_smoothing"].get<double>();
    spec.full_average = json.value("full_average", 0.0);
    spec.distill = json.value("distill", 0.0);
    spec.distill_temperature = json.value("distill_temperature", spec.distill_temperature);
    spec.score_keep = json.value("score_keep", spec.score_keep);
    spec.composites = json.value("composites", 0.0);
    json.at("seed").get_to(spec.seed);
    json.at("validation").get_to(spec.validation);
    for (std::size_t i = 0; i < spec.rungs.size(); ++i) {
      json.at("rungs").at(i).at("epochs").get_to(spec.rungs[i].epochs);
      json.at("rungs").at(i).at("images").get_to(spec.rungs[i].images);
    }
    json.at("learning_rate").get_to(spec.learning_rate);
    json.at("batch").get_to(spec.batch);
    json.at("label_smoothing").get_to(spec.label_smoothing);
    json.at("flip").get_to(spec.flip);
    json.at("train_limit").get_to(spec.train_limit);
    json.at("slowest").get_to(spec.slowest);
    spec.latency = json.value("latency_engine", "eager");  // studies from before generated C
    spec.latency_tune = json.value("latency_tune", 0.0);
    json.at("latency_batch").get_to(spec.latency_batch);
    json.at("latency_threads").get_to(spec.latency_threads);
    json.at("device").get_to(spec.device);
    spec.ladder = study::LadderConfig::from_json(json.at("ladder"));
  } catch (const Json::exception& problem) {
    throw input_error("the study's specification cannot be read: {}", problem.what())
        .note("the study was not written by `kasimir search`; use another --study");
  }
  return spec;
}

SampleOptions SearchSpec::sample_options() const {
  SampleOptions options;
  options.limits.min_primitives = min_primitives;
  options.limits.max_primitives = max_primitives;
  options.limits.max_width = max_width;
  options.limits.allow = allow;
  options.limits.forbid = forbid;
  options.limits.require = require;
  options.limits.composites = composites;
  options.budget = Budget::parse(budget);
  options.limits.weights_may_depend_on_resolution = allow_resolution;
  options.wanted = {.channel_mixing = !allow_unmixed,
                    .neighbourhood = !allow_pointwise,
                    .allow_global = allow_global,
                    .labels = parse_label_rules(want)};
  return options;
}

LoadOptions SearchSpec::load_options() const {
  LoadOptions options = reading.load_options();
  options.train_limit = train_limit;
  return options;
}

Recipe SearchSpec::recipe(int rung, int trial, int repetition, const ImageSet& images) const {
  Recipe recipe;
  recipe.epochs = rungs.at(static_cast<std::size_t>(rung)).epochs;
  recipe.batch = batch;
  recipe.learning_rate = learning_rate;
  recipe.label_smoothing = label_smoothing;
  // One eighth of the image's side, as 4 of 32 pixels is usual for CIFAR-10 (He et al., arXiv 1512.03385, section 4.2).
  recipe.crop_padding = std::max(1, images.height / 8);
  recipe.flip = flip;
  recipe.seed = seed * 1000 + static_cast<std::uint64_t>(repetition);
  recipe.device = device == "cuda" ? Device::cuda : Device::cpu;
  recipe.kernels = kernel_training(train_kernels);
  if (rung == static_cast<int>(study::Rung::full)) {
    recipe.evaluate_test = true;
    recipe.label_smoothing = full_label_smoothing.value_or(label_smoothing);
    recipe.average = full_average;
    recipe.distill = trial == 0 ? 0 : distill;
    recipe.distill_temperature = distill_temperature;
  }
  return recipe;
}

bool is_onnx_file(const std::string& network) { return network.ends_with(".onnx"); }

ImportedNetwork onnx_network(const std::string& file, double width, Shape3 input) {
  if (width != 1.0) throw input_error("--width is {}: {} has the channels of its weights", width, file);
  return import_onnx(file, input);
}

Network network_for(const std::string& name, double width, Shape3 input, std::int64_t classes) {
  if (is_onnx_file(name)) {
    Network network = onnx_network(name, width, input).network;
    return classes > 0 && classes != network.classes() ? network.with_classes(classes) : network;
  }
  ZooOptions options = zoo_record(name).defaults;
  options.width = width;
  if (input.c > 0) options.input = input;
  if (classes > 0) options.classes = classes;
  return zoo_network(name, options);
}

}  // namespace kasimir
