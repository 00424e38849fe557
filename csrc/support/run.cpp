#include "support/run.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "support/errors.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace fastfs::core {
namespace {

constexpr auto kReportInterval = std::chrono::milliseconds(50);
constexpr int kMaxThreads = 1024;

// Bytes below which a call doesn't look at the machine, because reading its state takes longer than the call.
constexpr std::int64_t kAlwaysAllowed = std::int64_t{1} << 26;

// Overhead that doesn't grow with the data (tiles, panels, packed blocks). Methods don't count it; answers include it.
constexpr std::int64_t kOfAnyCall = std::int64_t{4} << 20, kOfAnyThread = std::int64_t{1} << 19;

// Reads a system file; returns an empty string if that fails. The standard library's streams would bring locales, which
// are a lot of code for a library that links the C++ runtime statically.
std::string read_system_file(const std::string& path) {
    std::string text;
    if (std::FILE* file = std::fopen(path.c_str(), "r")) {
        char part[4096];
        while (const std::size_t n = std::fread(part, 1, sizeof part, file)) text.append(part, n);
        std::fclose(file);
    }
    return text;
}

// Returns the number after a name at the start of a line; 0 if there is none.
std::int64_t number_behind(const std::string& name, const std::string& lines) {
    const auto at = ("\n" + lines).find("\n" + name);
    return at == std::string::npos ? 0 : std::strtoll(lines.c_str() + at + name.size(), nullptr, 10);
}

// Calls look(folder, is_second) for the cgroups of this process that have the controller, from the innermost outwards:
// each can have a limit. In a container the path can be the host's: only its last folder exists there.
template <class F>
void for_cgroups(const std::string& controller, F&& look) {
    const std::string groups = read_system_file("/proc/self/cgroup");  // lines of number:controllers:path
    for (std::size_t begin = 0, end; (end = groups.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const std::size_t first = groups.find(':', begin), second = groups.find(':', first + 1);
        if (second >= end) continue;
        const std::string controllers = groups.substr(first + 1, second - first - 1);
        const bool is_second = controllers.empty();
        if (!is_second && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
        const std::string root = "/sys/fs/cgroup" + (is_second ? "" : "/" + controller);
        for (std::string path = groups.substr(second + 1, end - second - 1); path.size() > 1;
             path.resize(path.rfind('/'))) {
            look(root + path, is_second);
        }
        look(root, is_second);
    }
}

int cpus_of_affinity_mask() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

// Returns the number of CPUs that the quotas of cgroups allow, rounded up; a large number if there is no quota.
int cpus_of_quota() {
    int cpus = kMaxThreads;
    for_cgroups("cpu", [&](const std::string& folder, bool is_second) {
        const std::string quota_and_period = is_second ? read_system_file(folder + "/cpu.max")
                                                       : read_system_file(folder + "/cpu.cfs_quota_us") + " " +
                                                             read_system_file(folder + "/cpu.cfs_period_us");
        double quota = 0, period = 0;  // unchanged if the quota is "max"
        std::sscanf(quota_and_period.c_str(), "%lf %lf", &quota, &period);
        if (quota <= 0 || period <= 0) return;
        cpus = std::clamp(static_cast<int>(std::ceil(quota / period)), 1, cpus);
    });
    return cpus;
}

// Returns FASTFS_NUM_THREADS or, if it isn't set, the number of CPUs that affinity and cgroups allow; throws
// InvalidArgument if it isn't a number from 1 to 1024.
int default_thread_count() {
    if (const char* text = std::getenv("FASTFS_NUM_THREADS"); text && *text) {
        char* end = nullptr;
        long value = std::strtol(text, &end, 10);
        require(*end == '\0' && value >= 1 && value <= kMaxThreads,
                "FASTFS_NUM_THREADS must be a number from 1 to 1024; got '", text, "'");
        return static_cast<int>(value);
    }
    return std::min(cpus_of_affinity_mask(), cpus_of_quota());
}

// Returns the bytes that a text of FASTFS_MAX_MEMORY means, such as 4000000000, 4G or 4GiB; units are powers of 1024.
// Throws InvalidArgument for other texts.
std::int64_t parse_bytes(const char* text) {
    char* end = nullptr;
    double value = std::strtod(text, &end);
    const std::string units = "KMGT";
    if (end != text && *end) {
        auto power = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
        if (power != std::string::npos) {
            value *= std::pow(1024.0, static_cast<double>(power + 1));
            ++end;
            if (*end == 'i') ++end;
        }
        if (*end == 'B' || *end == 'b') ++end;
    }
    require(end != text && *end == '\0' && value >= 1 && value < 9e18,
            "FASTFS_MAX_MEMORY must be a number of bytes such as 4000000000 or 4G; got '", text, "'");
    return static_cast<std::int64_t>(value);
}

// Returns the bytes that the system and the cgroups leave to this process now; the largest number if neither tells.
std::int64_t available_memory() {
    std::int64_t available = std::numeric_limits<std::int64_t>::max();
    if (const std::int64_t kib = number_behind("MemAvailable:", read_system_file("/proc/meminfo")))
        available = kib * 1024;
    for_cgroups("memory", [&](const std::string& folder, bool is_second) {
        const std::string of_limit = folder + (is_second ? "/memory.max" : "/memory.limit_in_bytes");
        const std::string used = read_system_file(folder + (is_second ? "/memory.current" : "/memory.usage_in_bytes"));
        const std::int64_t limit = number_behind("", read_system_file(of_limit));  // or the word "max"
        if (limit <= 0 || used.empty()) return;
        // Cached files count as used, but can be reclaimed.
        const char* name = is_second ? "inactive_file " : "total_inactive_file ";
        const std::int64_t cached = number_behind(name, read_system_file(folder + "/memory.stat"));
        available = std::min(available, std::max<std::int64_t>(limit - number_behind("", used) + cached, 1));
    });
    return available;
}

// Returns a number of bytes as text: "1.50 GB (1500000000 bytes)".
std::string bytes_as_text(std::int64_t bytes) {
    const std::string exact = std::to_string(bytes) + " bytes";
    if (bytes < 1000000) return exact;
    char text[32];
    if (bytes >= 1000000000) {
        std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) / 1e9);
    } else {
        std::snprintf(text, sizeof text, "%.2f MB", static_cast<double>(bytes) / 1e6);
    }
    return text + (" (" + exact + ")");
}

}  // namespace

int thread_count(int requested) {
    require(requested >= 0 && requested <= kMaxThreads, "n_threads must be from 0 (all) to 1024; got ", requested);
    if (requested > 0) return requested;
    static const int count = default_thread_count();
    return count;
}

// Returns the bytes that a call may take: those requested or, for 0, FASTFS_MAX_MEMORY or else the memory that is
// available now. Throws InvalidArgument if requested is negative or the variable isn't a number of bytes.
std::int64_t memory_budget(std::int64_t requested) {
    require(requested >= 0, "max_memory must be a number of bytes or 0 (default); got ", requested);
    if (requested > 0) return requested;
    static const std::int64_t from_environment = [] {
        const char* text = std::getenv("FASTFS_MAX_MEMORY");
        return text && *text ? parse_bytes(text) : std::int64_t{0};
    }();
    return from_environment > 0 ? from_environment : available_memory();
}

Run::Run(const fastfs_run& options) : options_(options), n_threads_(thread_count(options.n_threads)) {
    require(options.max_memory >= 0, "max_memory must not be negative; got ", options.max_memory);
    if (is_question()) *options_.bytes_needed = 0;
    if (options_.progress) last_report_ = std::chrono::steady_clock::now();
}

bool Run::allows(std::int64_t bytes) const {
    static const bool limited = std::getenv("FASTFS_MAX_MEMORY") != nullptr;
    if (bytes <= kAlwaysAllowed && options_.max_memory == 0 && !limited) return true;
    return bytes <= memory_budget(options_.max_memory);
}

void Run::require_memory(std::int64_t bytes, const Message& what, std::string_view advice) const {
    if (is_question()) {
        bytes += kOfAnyCall + n_threads_ * kOfAnyThread;
        *options_.bytes_needed = std::max(*options_.bytes_needed, bytes);
    }
    if (allows(bytes)) {
        if (is_question()) throw Answered();
        return;
    }
    const std::int64_t budget = memory_budget(options_.max_memory);
    throw OutOfMemory({what, " would need ", bytes_as_text(bytes), ", but the memory budget is ", bytes_as_text(budget),
                       ": raise max_memory (or FASTFS_MAX_MEMORY), or ", advice});
}

void Run::step(const char* name, double end) {
    if (std::this_thread::get_id() != caller_) return checkpoint();
    step_ = name;
    shares_.begin = shares_.next;
    shares_.end = shares_.next = shares_.whole_begin + (shares_.whole_end - shares_.whole_begin) * end;
    checkpoint(0);
}

Run::Part::Part(Run& run, double begin, double end) : run_(run), counts_(std::this_thread::get_id() == run.caller_) {
    if (!counts_) return;
    outer_ = run.shares_;
    const double length = outer_.end - outer_.begin;
    const double first = outer_.begin + begin * length, last = outer_.begin + end * length;
    run.shares_ = {.whole_begin = first, .whole_end = last, .begin = first, .end = last, .next = first};
}

Run::Part::~Part() {
    if (counts_) run_.shares_ = outer_;
}

void Run::checkpoint(double done) {
    if (std::this_thread::get_id() == caller_) {
        done_ = std::max(done_, shares_.begin + done * (shares_.end - shares_.begin));
    }
    checkpoint();
}

void Run::checkpoint() {
    if (options_.progress && std::this_thread::get_id() == caller_) report_if_due();
    if (stop_.load(std::memory_order_relaxed)) throw Canceled();
}

// Calls the progress callback if the last report is old enough, and notes a cancel in stop_ if it returns other than 0.
void Run::report_if_due() {
    if (stop_.load(std::memory_order_relaxed)) return;  // already canceled: only the helpers are still waited for
    if (std::chrono::steady_clock::now() - last_report_ < kReportInterval) return;
    if (options_.progress(options_.user, step_, std::min(done_, 1.0)) != 0) {
        stop_.store(true, std::memory_order_relaxed);
    }
    last_report_ = std::chrono::steady_clock::now();
}

}  // namespace fastfs::core
