// SPDX-License-Identifier: Apache-2.0
#include "made_up_study.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir::report {

using study::Counts;
using study::JobResult;
using study::Json;
using study::Rung;

const char* const bottleneck_text =
    "kernel bottleneck\n"
    "given g=4\n"
    "  a = linear(x, to=x0)\n"
    "  b = conv(a, to=Co, groups=g, stride=yes)\n"
    "return b\n"
    "at Ci=16 Co=16 H=32 W=32 s=1: x0=8\n"
    "at Ci=16 Co=32 H=16 W=16 s=2: x0=12\n";

Json MadeUpStudy::default_spec() {
  return {
      {"network", "resnet8"},
      {"data", "cifar10"},
      {"budget", "macs=0.05..0.5,params=0.02..0.5"},
      {"seed", 1},
      {"recipe", {{"batch", 128}, {"learning_rate", 0.1}}},
      {"command", "kasimir search --network resnet8 --data 'my <data>' --study small.db"},
      {"sites",
       {{{"site", "Ci=16 Co=16 H=32 W=32 s=1"}, {"count", 2}, {"macs", 4718592}, {"params", 4608}},
        {{"site", "Ci=16 Co=32 H=16 W=16 s=2"}, {"count", 1}, {"macs", 1179648}, {"params", 4608}}}},
      {"ladder", {{"trials", 30}, {"time_limit_s", 2400}, {"workers", 2}, {"finalists", 3}, {"finalist_seeds", 3}}}};
}

std::filesystem::path MadeUpStudy::new_folder(const std::string& name) {
  auto folder = std::filesystem::temp_directory_path() / fmt::format("kasimir-report-{}-{}", getpid(), name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

MadeUpStudy::MadeUpStudy(const std::string& name, const Json& spec)
    : folder_(new_folder(name)),
      store_(study::Store::start(folder_ / "small.db", spec, "kasimir 0.1.0", "a made-up machine, 2 cores", now_)) {}

MadeUpStudy::~MadeUpStudy() { std::filesystem::remove_all(folder_); }

int MadeUpStudy::propose(const std::string& kernel, Counts replaced, Counts network) {
  now_ += 1;
  lease_ = store_.propose("worker-1", now_, 60);
  const int number = lease_.trial.number;
  const Json origin = number == 0 ? Json() : Json{{"strategy", "random"}, {"seed", 1}, {"attempt", number}};
  const std::string hash = number == 0 ? "" : fmt::format("{:04}", number);
  KASIMIR_CHECK(store_.accept(lease_, {kernel, hash, origin, replaced, network, Json()}, now_), "trial {}", number);
  return number;
}

int MadeUpStudy::reject(const std::string& rule, const std::string& reason) {
  lease_ = store_.propose("worker-1", now_, 60);
  KASIMIR_CHECK(store_.reject(lease_, rule, reason, now_), "trial {}", lease_.trial.number);
  return lease_.trial.number;
}

void MadeUpStudy::finish_job(const study::Job& job, const JobResult& result, const std::vector<double>& curve) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    now_ += 1;
    const study::CurveRow row{static_cast<int>(i) + 1, 1.0, curve[i], 1.0, curve[i], 0.1, 1.0};
    KASIMIR_CHECK(store_.add_epoch(job, row), "job {}", job.id);
  }
  now_ += 10;
  KASIMIR_CHECK(store_.finish(job, result, now_), "job {}", job.id);
}

void MadeUpStudy::finish_quick(const JobResult& result, const std::vector<double>& curve) {
  finish_job(lease_.job, result, curve);
}

void MadeUpStudy::finish(int trial, Rung rung, int seed, const JobResult& result, const std::vector<double>& curve) {
  KASIMIR_CHECK(store_.queue(trial, rung, seed), "trial {} has the job already", trial);
  const auto lease = store_.lease(rung, "worker-2", now_, 60);
  KASIMIR_CHECK(lease && lease->job.trial == trial, "another job was queued");
  finish_job(lease->job, result, curve);
}

JobResult accuracy(double validation, std::optional<double> test) {
  JobResult result;
  result.accuracy = validation;
  result.test_accuracy = test;
  return result;
}

JobResult latency(std::vector<double> kernel_ms, double original_ms) {
  JobResult result;
  for (std::size_t i = 0; i < kernel_ms.size(); ++i)
    result.latency.push_back({1, 32, static_cast<int>(i), kernel_ms[i], original_ms});
  return result;
}

void fill_small(MadeUpStudy& study) {
  const Counts original{10'000'000, 80'000};
  study.propose("", {5'898'240, 9'216}, original);
  study.finish_quick(accuracy(0.70), {0.5, 0.70});
  const int good = study.propose(bottleneck_text, {1'000'000, 2'000}, {5'000'000, 40'000});
  study.finish_quick(accuracy(0.68), {0.4, 0.68});
  const int other = study.propose("kernel pointwise\n  a = stride(x)\n  b = linear(a, to=Co)\nreturn b\n",
                                  {600'000, 1'000}, {4'000'000, 30'000});
  study.finish_quick(accuracy(0.55), {0.3, 0.55});
  const int slow =
      study.propose("kernel unread\n  a = no_such_primitive(x)\nreturn a\n", {2'000'000, 3'000}, {6'000'000, 50'000});
  study.finish_quick(accuracy(0.50), {0.3, 0.50});
  const int broken = study.propose("kernel broken\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", {2'000'000, 3'000},
                                   {6'000'000, 50'000});
  study.finish_quick(JobResult::failed("diverged", "the loss was <script>alert('x')</script> \"nan\", after epoch 1"));
  study.reject("every output sees a neighbourhood", "it sees 1 x 1");
  study.reject("every output sees a neighbourhood", "it sees 1 x 1, twice");
  for (int seed = 0; seed < 2; ++seed) {
    study.finish(0, Rung::full, seed, accuracy(seed == 0 ? 0.90 : 0.92, 0.91), {0.6, 0.8, 0.91});
    study.finish(good, Rung::full, seed, accuracy(seed == 0 ? 0.895 : 0.905, 0.89), {0.5, 0.8, 0.90});
    study.finish(other, Rung::full, seed, accuracy(seed == 0 ? 0.80 : 0.82, 0.80), {0.4, 0.7, 0.81});
  }
  study.finish(good, Rung::latency, 0, latency({1.0, 1.25, 1.5}, 2.5));
  study.finish(other, Rung::latency, 0, latency({3.0, 3.0, 3.0}, 2.5));
  using study::TrialState;
  auto& store = study.store();
  for (const int trial : {0, good, other}) store.set_state(trial, TrialState::complete, "", "");
  store.set_state(slow, TrialState::stopped, "", "not among the best 2 of 3 on rung quick");
  static_cast<void>(broken);
  store.set_phase(study::rung_count);
}

namespace {

std::vector<double> rising(double end, int epochs, Rng& rng) {
  std::vector<double> values;
  for (int i = 1; i <= epochs; ++i) {
    const double share = static_cast<double>(i) / epochs;
    values.push_back(end * (0.45 + 0.55 * share * (2 - share)) + 0.004 * rng.normal() * (1 - share));
  }
  values.back() = end;
  return values;
}

std::string kernel_text(int number, const std::string& body) { return fmt::format("kernel k{}\n", number) + body; }

const std::array<const char*, 6> bodies{
    "given g=4\n  a = linear(x, to=x0)\n  b = norm(a)\n  c = conv(b, to=Co, groups=g, stride=yes)\nreturn c\n"
    "at Ci=16 Co=16 H=32 W=32 s=1: x0=8\nat Ci=16 Co=32 H=16 W=16 s=2: x0=12\n",
    "given g=4 r=4\n  a = stride(x)\n  b = linear(a, to=Ci/r)\n  c = norm(b)\n  d = relu(c)\n  e = mix(d, over=c, "
    "to=(g=g,u=3,v=3))\n  f = unfold(a)\n  g = group(f, by=g)\n  h = broadcast(e, g, op=mul)\n  i = fold(h, "
    "axes=(u,v), by=sum)\n  j = merge(i)\n  k = linear(j, to=Co)\nreturn k\n",
    "given r=4\n  a = conv(x, to=Co, groups=1, stride=yes)\n  b = fold(a, axes=(h,w))\n  c = linear(b, to=Co/r)\n  d = "
    "relu(c)\n  e = linear(d, to=Co)\n  f = sigmoid(e)\n  g = broadcast(f, a, op=mul)\nreturn g\n",
    "  a = conv(x, to=Ci, groups=Ci, stride=yes)\n  b = linear(a, to=Co)\nreturn b\n",
    "given g=4\n  a = conv(x, to=Co, groups=g, stride=yes)\n  b = shuffle(a, by=g)\n  c = group(b, by=g)\n  d = "
    "linear(c, to=Co)\nreturn d\n",
    "  a = shift(x, axes=h)\n  b = stride(a)\n  c = linear(b, to=Co)\n  d = relu(c)\nreturn d\n"};

struct Candidate {
  int number;
  double quick;
};

/// Proposes 25 kernels and gives each that is not rejected or failed a result on rung `quick`, the best first.
std::vector<Candidate> propose_many(MadeUpStudy& study, const Counts& part, const Counts& whole, Rng& rng) {
  std::vector<Candidate> candidates;
  for (int i = 1; i <= 25; ++i) {
    if (i % 6 == 5) {
      study.reject(i % 4 == 1 ? "every output sees a neighbourhood" : "the budget can be kept",
                   "a value of this attempt");
      continue;
    }
    const double share = 0.05 + 0.5 * rng.unit();
    const double params_share = share * (0.6 + 0.6 * rng.unit());
    const Counts replaced{static_cast<std::int64_t>(static_cast<double>(part.macs) * share),
                          static_cast<std::int64_t>(static_cast<double>(part.params) * params_share)};
    const Counts network{whole.macs - part.macs + replaced.macs, whole.params - part.params + replaced.params};
    const char* body = bodies.at(static_cast<std::size_t>(i) % bodies.size());
    const int number = study.propose(kernel_text(i, body), replaced, network);
    if (i % 9 == 7) {
      study.finish_quick(
          JobResult::failed("diverged", "the loss was nan after step 117 of epoch 1, at learning rate 0.1"));
      continue;
    }
    const double quick = i == 12 ? 0.12 : 0.42 + 0.35 * std::sqrt(share) * (0.75 + 0.25 * rng.unit());
    study.finish_quick(accuracy(quick), rising(quick, 2, rng));
    candidates.push_back({number, quick});
  }
  std::ranges::sort(candidates, std::greater(), &Candidate::quick);
  return candidates;
}

void train_longer(MadeUpStudy& study, const std::vector<Candidate>& candidates, Rng& rng) {
  study.finish(0, Rung::longer, 0, accuracy(0.74), rising(0.74, 5, rng));
  for (const Candidate& candidate : candidates) {
    const double value = candidate.quick + 0.12 + 0.01 * rng.normal();
    study.finish(candidate.number, Rung::longer, 0, accuracy(value), rising(value, 5, rng));
    study.store().set_state(candidate.number, study::TrialState::stopped, "", "not among the 3 finalists");
  }
}

void finish_finalists(MadeUpStudy& study, const std::vector<Candidate>& finalists, Rng& rng) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    study.finish(0, Rung::full, repetition, accuracy(0.874 + 0.003 * rng.normal(), 0.868), rising(0.874, 20, rng));
    double middle = 0.868;
    for (const Candidate& finalist : finalists) {
      const double value = middle + 0.003 * rng.normal();
      study.finish(finalist.number, Rung::full, repetition, accuracy(value, value - 0.006), rising(value, 20, rng));
      middle -= 0.012;
    }
  }
  double milliseconds = 4.1;
  for (const Candidate& finalist : finalists) {
    std::vector<double> samples;
    for (int k = 0; k < 30; ++k) samples.push_back(milliseconds + 0.05 * rng.normal());
    study.finish(finalist.number, Rung::latency, 0, latency(samples, 6.3));
    study.store().set_state(finalist.number, study::TrialState::complete, "", "");
    milliseconds -= 0.8;
  }
}

}  // namespace

void fill_large(MadeUpStudy& study) {
  Rng rng(5);
  const Counts part{11'800'000, 73'000};
  const Counts whole{12'501'632, 78'042};
  study.propose("", part, whole);
  study.finish_quick(accuracy(0.61), rising(0.61, 2, rng));
  std::vector<Candidate> candidates = propose_many(study, part, whole, rng);
  for (const Candidate& candidate : candidates)
    study.store().set_state(candidate.number, study::TrialState::stopped, "", "not among the best 8 on rung quick");
  candidates.resize(8);
  train_longer(study, candidates, rng);
  candidates.resize(3);
  finish_finalists(study, candidates, rng);
  study.store().set_state(0, study::TrialState::complete, "", "");
  study.store().set_phase(study::rung_count);
}

}  // namespace kasimir::report
