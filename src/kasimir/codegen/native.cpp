// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/native.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/base/stopwatch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

namespace kasimir {
namespace {

constexpr std::string_view main_text = R"(
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double milliseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}
static float *floats(size_t count) {
  /* whole pages of 2 MiB where there is much of it: a page fault costs as much as a small layer */
  const size_t unit = count * sizeof(float) < (1u << 20) ? 64 : 2u << 20;
  void *p = aligned_alloc(unit, (count * sizeof(float) + unit - 1) / unit * unit);
  if (p == NULL) {
    printf("no memory for %zu floats\n", count);
    exit(4);
  }
  memset(p, 0, count * sizeof(float));
  return p;
}
static void load(const char *path, float *to, size_t count) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(to, sizeof(float), count, file) != count) {
    printf("cannot read %zu floats from %s\n", count, path);
    exit(2);
  }
  fclose(file);
}
static void save(const char *path, const float *from, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(from, sizeof(float), count, file) != count || fclose(file) != 0) {
    printf("cannot write %s\n", path);
    exit(4);
  }
}

static size_t best(const float *scores, size_t count) {
  size_t at = 0;
  for (size_t i = 1; i < count; ++i)
    if (scores[i] > scores[at]) at = i;
  return at;
}
/* Runs on all images of a file and compares with another: 0 if the scores of enough images differ by no more than a
   share of the largest one, and enough have the same best score. The file of images holds whole runs. */
static int check(const char *images, const char *scores, const float *prepared, float *workspace, float *input,
                 float *output) {
  FILE *in = fopen(images, "rb"), *known = fopen(scores, "rb");
  float *expected = floats(@_output_size);
  const size_t each = @_output_size / @_batch;
  double difference = 0, largest = 0;
  double *of_image = NULL; /* differences */
  size_t runs = 0, other = 0, far = 0;
  while (in != NULL && known != NULL && fread(input, sizeof(float), @_input_size, in) == @_input_size &&
         fread(expected, sizeof(float), @_output_size, known) == @_output_size) {
    @_run(prepared, workspace, input, output);
    of_image = realloc(of_image, (runs + 1) * @_batch * sizeof *of_image);
    if (of_image == NULL) {
      printf("no memory for %zu images\n", (runs + 1) * @_batch);
      exit(4);
    }
    for (size_t i = 0; i < @_batch; ++i) of_image[runs * @_batch + i] = 0;
    for (size_t i = 0; i < @_output_size; ++i) {
      const double here = fabs((double)output[i] - expected[i]);
      double *most = of_image + runs * @_batch + i / each;
      if (!(here <= *most)) *most = here;
      if (!(here <= difference)) difference = here;
      if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
    }
    for (size_t i = 0; i < @_batch; ++i) other += best(output + i * each, each) != best(expected + i * each, each);
    ++runs;
  }
  if (runs == 0) {
    printf("cannot read images from %s and scores from %s\n", images, scores);
    return 2;
  }
  fclose(in);
  fclose(known);
  free(expected);
  const double error = largest > 0 ? difference / largest : difference;
  for (size_t i = 0; i < runs * @_batch; ++i) far += !(of_image[i] <= KSM_SHARE * (largest > 0 ? largest : 1));
  free(of_image);
  const double all = (double)(runs * @_batch);
  const int good = (double)far <= KSM_FAR * all && (double)other <= KSM_OTHERS * all;
  printf("%s: largest difference %.2g of the largest score, allowed %s; another class for %zu of %zu images\n",
         good ? "equal" : "DIFFERENT", error, KSM_ALLOWED, other, runs * @_batch);
  return good ? 0 : 3;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    printf("usage: %s WEIGHTS [INPUT [OUTPUT]]\n"
           "with WEIGHTS alone: answers `input FILE`, `run N` and `time N` on standard input\n"
           "with INPUT: runs on its floats first; with OUTPUT: runs on all of INPUT, compares and ends, or writes the\n"
           "file for the first run and goes on if there is none\n", argv[0]);
    return 2;
  }
  float *weights = floats(@_weights_size + 1), *prepared = floats(@_prepared_size), *workspace = floats(@_workspace_size);
  float *input = floats(@_input_size), *output = floats(@_output_size);
  load(argv[1], weights, @_weights_size);
  @_prepare(weights, prepared);
  free(weights);
  @_init(workspace);
  FILE *known = argc > 3 ? fopen(argv[3], "rb") : NULL;
  if (known != NULL) {
    fclose(known);
    return check(argv[2], argv[3], prepared, workspace, input, output);
  }
  if (argc > 2) {
    load(argv[2], input, @_input_size);
    @_run(prepared, workspace, input, output);
  }
  if (argc > 3) save(argv[3], output, @_output_size);
  if (argc < 4) printf("ready\n");
  fflush(stdout);
  char line[4096];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "input ", 6) == 0) {
      char path[4200];
      load(line + 6, input, @_input_size);
      @_run(prepared, workspace, input, output);
      snprintf(path, sizeof path, "%s.out", line + 6);
      save(path, output, @_output_size);
      printf("done\n");
    } else if (strncmp(line, "run ", 4) == 0 || strncmp(line, "time ", 5) == 0) {
      const int json = line[0] == 'r';
      const int runs = atoi(line + (json ? 4 : 5));
      if (json) printf("[");
      for (int i = 0; i < runs; ++i) {
        const double cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID), wall = milliseconds(CLOCK_MONOTONIC);
        @_run(prepared, workspace, input, output);
        const double took = milliseconds(CLOCK_MONOTONIC) - wall;
        const double used = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        if (json) {
          printf("%s%.6f", i == 0 ? "" : ", ", took);
        } else {
          printf("%s%.6f %.6f", i == 0 ? "" : " ", took, used);
        }
      }
      printf(json ? "]\n" : "\n");
#ifdef KSM_TIMED
    } else if (strncmp(line, "nests ", 6) == 0) {
      const int count = atoi(line + 6);
      for (int i = 0; i < count; ++i) printf("%s%.1f", i == 0 ? "" : " ", @_times[i]), @_times[i] = 0;
      printf("\n");
#endif
    } else {
      printf("unknown command: %s\n", line);
    }
    fflush(stdout);
  }
  return 0;
}
)";

Rejection renamed(const Rejection& reason, const char* rule) { return {rule, reason.with}; }

}  // namespace

CTarget host_target() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {16, 32, __builtin_cpu_supports("avx512vnni") != 0};
  if (__builtin_cpu_supports("avx2")) return {8, 16, false};
  return {4, 16, false};
#else
  return {4, 32, false};
#endif
}

std::string c_main(const COptions& options) {
  std::string text = fmt::format("#define _POSIX_C_SOURCE 200809L\n#include \"{}.h\"\n", options.name);
  text += options.quantised
              ? "#define KSM_SHARE 2e-2\n#define KSM_FAR 0.1\n#define KSM_OTHERS 0.02\n"
                "#define KSM_ALLOWED \"2e-2 for 90 %\"\n"
              : "#define KSM_SHARE 1e-3\n#define KSM_FAR 0.0\n#define KSM_OTHERS 0.0\n#define KSM_ALLOWED \"1e-3\"\n";
  if (options.timed) text += fmt::format("#define KSM_TIMED\nextern double {}_times[];\n", options.name);
  for (char c : main_text) c == '@' ? text += options.name : text += c;
  return text;
}

std::string pack_codes(const std::vector<float>& codes, int bits) {
  std::string bytes((codes.size() * static_cast<std::size_t>(bits) + 7) / 8, '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<int>(codes[i]);
    KASIMIR_CHECK(static_cast<float>(code) == codes[i] && code >= -(1 << (bits - 1)) && code < 1 << (bits - 1),
                  "{} is no number of {} bits", codes[i], bits);
    for (int b = 0; b < bits; ++b) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      bytes[at / 8] = static_cast<char>(bytes[at / 8] | ((code >> b & 1) << (at % 8)));
    }
  }
  return bytes;
}

std::vector<float> pack_weights(const CProgram& program, const std::vector<std::vector<float>>& values) {
  std::vector<float> all(static_cast<std::size_t>(program.weights_size));
  for (const WeightSlot& slot : program.weights) {
    const auto& of = values[static_cast<std::size_t>(slot.tensor)];
    KASIMIR_CHECK(static_cast<std::int64_t>(of.size()) == slot.size, "tensor {} has {} values", slot.name, of.size());
    if (slot.bits == 0) {
      std::ranges::copy(of, all.begin() + slot.offset);
      continue;
    }
    const std::string packed = pack_codes(of, slot.bits);
    std::memcpy(all.data() + slot.offset, packed.data(), packed.size());
  }
  return all;
}

void write_floats(const std::filesystem::path& path, const std::vector<float>& values) {
  write_file(path, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Outcome<std::string> compile_c(const NativeOptions& options, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{options.compiler};
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildLimits limits;
  limits.seconds = options.compile_seconds;
  return run_command(command, limits);
}

Outcome<NativeNetwork> NativeNetwork::build(const CProgram& program, const COptions& names,
                                            const std::vector<float>& weights, const NativeOptions& options) {
  TemporaryFolder folder;
  const auto at = [&](const std::string& end) { return (folder.path() / (names.name + end)).string(); };
  write_file(at(".h"), program.header);
  write_file(at(".c"), program.source);
  write_file(at("_main.c"), c_main(names));
  write_floats(at(".weights"), weights);
  std::vector<std::string> arguments{"-o", at("_main"), at(".c"), at("_main.c"), "-lm"};
  if (names.threads > 1) arguments.emplace_back("-fopenmp");
  const Stopwatch watch;
  if (const auto compiled = compile_c(options, arguments); !compiled.ok())
    return renamed(compiled.rejection(), "native: the C compiles");
  const double took = watch.seconds();
  ChildLimits limits;
  limits.seconds = options.answer_seconds;
  limits.memory_bytes = options.memory_bytes;
  limits.cpu = options.cpu;
  // Threads that wait for each other must not sleep between two networks, nor move.
  limits.environment = {"OMP_WAIT_POLICY=active", "OMP_PROC_BIND=true", "OMP_DYNAMIC=false"};
  ChildProcess child({at("_main"), at(".weights")}, limits);
  const auto ready = child.answer();
  if (!ready.ok()) return renamed(ready.rejection(), "native: the program starts");
  if (*ready != "ready") return Rejection{"native: the program starts", *ready};
  return NativeNetwork(std::move(folder), std::move(child), took);
}

Outcome<std::vector<float>> NativeNetwork::run(const std::vector<float>& input) {
  const std::filesystem::path path = folder_.path() / "input";
  write_floats(path, input);
  child_.send("input " + path.string());
  const auto answer = child_.answer();
  if (!answer.ok()) return renamed(answer.rejection(), "native: the program runs");
  if (*answer != "done") return Rejection{"native: the program runs", *answer};
  return read_floats(path.string() + ".out");
}

Outcome<std::vector<NativeSample>> NativeNetwork::time(int runs) {
  child_.send(fmt::format("time {}", runs));
  const auto answer = child_.answer();
  if (!answer.ok()) return renamed(answer.rejection(), "native: the program runs");
  std::istringstream numbers(*answer);
  std::vector<NativeSample> samples(static_cast<std::size_t>(runs));
  for (NativeSample& sample : samples)
    if (!(numbers >> sample.wall_ms >> sample.cpu_ms)) return Rejection{"native: the program runs", *answer};
  return samples;
}

Outcome<std::vector<double>> NativeNetwork::nest_times(std::size_t nests, int runs) {
  if (const auto ran = time(runs); !ran.ok()) return ran.rejection();
  child_.send(fmt::format("nests {}", nests));
  const auto answer = child_.answer();
  if (!answer.ok()) return renamed(answer.rejection(), "native: the program runs");
  std::istringstream numbers(*answer);
  std::vector<double> times(nests);
  for (double& nanoseconds : times) {
    if (!(numbers >> nanoseconds)) return Rejection{"native: the program runs", *answer};
    nanoseconds /= runs;
  }
  return times;
}

Outcome<std::vector<double>> NativeNetwork::fastest_nest_times(std::size_t nests, int runs) {
  std::vector<double> fastest(nests, std::numeric_limits<double>::infinity());
  for (int run = 0; run < runs; ++run) {
    const auto times = nest_times(nests, 1);
    if (!times.ok()) return times.rejection();
    for (std::size_t i = 0; i < nests; ++i) fastest[i] = std::min(fastest[i], (*times)[i]);
  }
  return fastest;
}

std::string compiler_version(const std::string& compiler) {
  const auto told = run_command({compiler, "--version"});
  if (!told.ok())
    throw system_error("there is no C compiler `{}`: {}", compiler, told.rejection().with)
        .note("install one (on Debian: apt-get install gcc)");
  return told->substr(0, told->find('\n'));
}

}  // namespace kasimir
