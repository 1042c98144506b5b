// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kasimir {

/// Where training runs.
enum class Device : std::uint8_t { cpu, cuda };
std::string_view device_name(Device device);  ///< "cpu", "cuda"

/// True if a CUDA device can be used, asked at run time.
bool has_cuda();

/// Lets the C library keep large blocks instead of giving them back to the system: for main(), once, before any large
/// allocation. Without it each large tensor pays for fresh pages again, which halves the speed of training and more.
void tune_allocator();

/// Threads that one tensor operation of this process may use. Several workers on a machine take one each.
void set_threads(int threads);

/// What a measured number depends on besides the network, for records.
struct Machine {
  std::string torch;  ///< "2.13.0"
  int threads = 1;
  std::string capability;  ///< the vector instructions that torch uses: "AVX512"
  std::string device;      ///< the processor's or the accelerator's name

  [[nodiscard]] std::string str() const;  ///< "torch 2.13.0, 1 thread, AVX512, AMD EPYC 9R45"
};
Machine describe_machine(Device device = Device::cpu);

}  // namespace kasimir
