// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/machine.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/train/torch.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <malloc.h>

#include <fstream>

namespace kasimir {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "unknown processor";
}

}  // namespace

std::string_view device_name(Device device) { return device == Device::cuda ? "cuda" : "cpu"; }

bool has_cuda() { return at::hasCUDA(); }

void tune_allocator() {
  // Blocks up to 1 GiB come from the heap, which keeps up to 2 GB of free memory and grows by 256 MiB at a time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
  mallopt(M_TOP_PAD, 256 << 20);
}

void set_threads(int threads) {
  if (threads < 1) throw input_error("{} threads: at least 1 is needed", threads);
  at::set_num_threads(threads);
}

std::string Machine::str() const {
  return fmt::format("torch {}, {} thread{}, {}, {}", torch, threads, threads == 1 ? "" : "s", capability, device);
}

Machine describe_machine(Device device) {
  Machine machine;
  machine.torch = TORCH_VERSION;
  machine.threads = at::get_num_threads();
  machine.capability = at::get_cpu_capability();
  machine.device = device == Device::cuda ? "cuda" : processor_name();
  return machine;
}

}  // namespace kasimir
