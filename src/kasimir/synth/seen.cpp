// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/seen.h"

#include "kasimir/base/files.h"
#include "kasimir/base/rng.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kasimir {
namespace {

constexpr std::string_view magic = "kasimir seen-set ";
constexpr int version = 2;        // 2: fingerprints at the smallest site of each kernel
constexpr std::size_t words = 6;  // of a record: form, function, cost, check
constexpr std::size_t record_size = words * sizeof(std::uint64_t);
using Record = std::array<std::uint64_t, words>;

std::string header_of(std::uint64_t space) { return fmt::format("{}{} of space {:016x}\n", magic, version, space); }

std::uint64_t check_of(const Record& record) {
  std::uint64_t hash = version;
  for (std::size_t i = 0; i + 1 < words; ++i) hash = mix_bits(hash ^ record[i]);
  return hash;
}

Record to_record(const Kinship& kernel) {
  const Fingerprint function = kernel.function.value_or(Fingerprint{});
  Record record{
      kernel.form.high, kernel.form.low, function.high, function.low, std::bit_cast<std::uint64_t>(kernel.cost), 0};
  record.back() = check_of(record);
  return record;
}

std::string to_bytes(const Record& record) {
  std::string bytes;
  for (const std::uint64_t word : record)
    for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(word >> shift & 0xFFU));
  return bytes;
}

Record from_bytes(std::string_view bytes) {
  Record record{};
  for (std::size_t i = 0; i < record_size; ++i)
    record[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (i % 8 * 8);
  return record;
}

bool whole(const Record& record) { return record.back() == check_of(record); }

Kinship to_kinship(const Record& record) {
  Kinship kernel{{record[0], record[1]}, Fingerprint{record[2], record[3]}, std::bit_cast<double>(record[4])};
  if (kernel.function == Fingerprint{}) kernel.function.reset();
  return kernel;
}

Error refused(const char* step, const std::filesystem::path& path) {
  return system_error("cannot {} {}: {}", step, path.string(), std::strerror(errno));
}

/// Whether what is known costs less, or the same but for rounding.
bool at_most(double known, double cost) {
  constexpr double rounding = 1e-9;
  return known <= cost * (1 + rounding);
}

}  // namespace

SeenSet::SeenSet(std::filesystem::path path, std::uint64_t space) : path_(std::move(path)) {
  try {
    open();
    load(read_file(path_), space);
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    throw;
  }
}

SeenSet::~SeenSet() { ::close(file_); }

void SeenSet::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw refused("open", path_);
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw refused("lock", path_);
  throw system_error("{} is in use by another process", path_.string())
      .note("wait until that ends, or name another file");
}

void SeenSet::load(std::string_view content, std::uint64_t space) {
  const std::string header = header_of(space);
  if (header.starts_with(content) && content.size() < header.size()) {
    // New, or its first line was cut short.
    dropped_ = content.size();
    if (::ftruncate(file_, 0) != 0) throw refused("shorten", path_);
    return write(header);
  }
  if (!content.starts_with(header)) {
    const std::string_view line = content.substr(0, content.find('\n'));
    if (!line.starts_with(magic))
      throw input_error("{} is no set of kernels that were seen", path_.string())
          .note(fmt::format("needed: a new name, or a file that begins with `{}`", magic));
    throw input_error("{} is of another version, or of other sites or primitives", path_.string())
        .note(fmt::format("found: {}", line))
        .note(fmt::format("needed: {}", header.substr(0, header.size() - 1)));
  }
  const std::string_view body = content.substr(header.size());
  std::size_t good = 0;
  std::size_t last = 0;
  for (std::size_t at = 0; at + record_size <= body.size(); at += record_size) {
    const Record record = from_bytes(body.substr(at, record_size));
    if (!whole(record)) continue;
    last = at + record_size;
    if (good != at) continue;
    good = last;
    remember(to_kinship(record));
    ++records_;
  }
  if (last > good)
    throw input_error("record {} of {} is damaged, and others after it are whole", records_ + 1, path_.string())
        .note(fmt::format("the first {} bytes can be trusted: keep them, or begin a new file", header.size() + good));
  size_ = header.size() + good;
  dropped_ = body.size() - good;
  if (dropped_ > 0 && ::ftruncate(file_, static_cast<off_t>(size_)) != 0) throw refused("shorten", path_);
}

void SeenSet::remember(const Kinship& kernel) {
  const auto keep = [&](auto& least, const auto& key) {
    const auto [at, fresh] = least.try_emplace(key, kernel.cost);
    if (!fresh) at.value() = std::min(at->second, kernel.cost);
  };
  keep(forms_, kernel.form);
  if (kernel.function) keep(functions_, *kernel.function);
}

Novelty SeenSet::add(const Kinship& kernel, const std::function<bool()>& differs) {
  const auto form = forms_.find(kernel.form);
  if (form != forms_.end() && at_most(form->second, kernel.cost)) return Novelty::same_form;
  const auto function = kernel.function ? functions_.find(*kernel.function) : functions_.end();
  const bool told_apart = form == forms_.end() && function != functions_.end() && differs && differs();
  if (!told_apart && function != functions_.end() && at_most(function->second, kernel.cost))
    return Novelty::same_function;
  const bool known = form != forms_.end() || function != functions_.end();
  remember(kernel);
  unwritten_ += to_bytes(to_record(kernel));
  ++records_;
  if (told_apart) return Novelty::told_apart;
  return known ? Novelty::cheaper : Novelty::fresh;
}

void SeenSet::flush() {
  if (unwritten_.empty()) return;
  write(unwritten_);
  unwritten_.clear();
}

void SeenSet::write(std::string_view bytes) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t n = ::write(file_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Error error = refused("write", path_);
      // Half a record would put all that come later out of step.
      if (::ftruncate(file_, static_cast<off_t>(size_)) != 0) throw refused("shorten", path_);
      throw error;
    }
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  size_ += bytes.size();
}

}  // namespace kasimir
