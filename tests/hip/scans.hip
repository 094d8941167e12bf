// rocPRIM's algorithms of one pass, whose workgroups look back at those before them, again and again. hipCUB calls them, too;
// where its headers are, its own entry points are tried as well. `scans REPEATS [NAME...]`.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <rocprim/rocprim.hpp>
#if __has_include(<hipcub/hipcub.hpp>)
#include <hipcub/hipcub.hpp>
#define HAS_HIPCUB 1
#endif

#include "files.h"

using Bytes = std::vector<unsigned char>;
// Storage that an algorithm asks for, and what it leaves.
using Algorithm = std::function<hipError_t(void *, size_t &)>;

template <class T> struct OnDevice {
    T *data;
    size_t count;
    explicit OnDevice(size_t count) : count(count) { MUST(hipMalloc((void **)&data, count * sizeof(T))); }
    explicit OnDevice(const std::vector<T> &from) : OnDevice(from.size()) {
        MUST(hipMemcpy(data, from.data(), count * sizeof(T), hipMemcpyHostToDevice));
    }
    ~OnDevice() { (void)hipFree(data); }
    std::vector<T> get(size_t some) const {
        std::vector<T> out(some);
        MUST(hipMemcpy(out.data(), data, some * sizeof(T), hipMemcpyDeviceToHost));
        return out;
    }
};

static int repeats, wrong;
static char **names;

static bool is_wanted(const char *name) {
    if (!*names) return true;
    for (char **wanted = names; *wanted; wanted++)
        if (!strcmp(*wanted, name)) return true;
    return false;
}

// Runs an algorithm again and again; each time `out` has to hold what is expected.
template <class T> void check(const char *name, Algorithm run, const OnDevice<T> &out, const std::vector<T> &expected) {
    size_t bytes = 0;
    MUST(run(nullptr, bytes));
    OnDevice<char> storage(bytes + 1);
    int failed = 0;
    for (int n = 0; n < repeats; n++) {
        MUST(hipMemset(out.data, 0xee, out.count * sizeof(T)));
        MUST(run(storage.data, bytes));
        MUST(hipDeviceSynchronize());
        std::vector<T> found = out.get(expected.size());
        failed += memcmp(found.data(), expected.data(), found.size() * sizeof(T)) != 0;
    }
    printf("%s: %d of %d wrong\n", name, failed, repeats);
    fflush(stdout);
    wrong += failed;
}

template <class T> std::vector<T> numbers(size_t count) {
    std::vector<T> out(count);
    unsigned state = 1;
    for (T &x : out) x = T((state = state * 1664525u + 1013904223u) >> 20);
    return out;
}

template <class T> void scans(const char *type, size_t count) {
    std::vector<T> given = numbers<T>(count), sums(count), before(count);
    std::partial_sum(given.begin(), given.end(), sums.begin());
    for (size_t i = 1; i < count; i++) before[i] = sums[i - 1];
    OnDevice<T> in(given), out(count);
    std::string name = std::string("inclusive_scan ") + type;
    if (is_wanted("inclusive_scan"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return rocprim::inclusive_scan(p, n, in.data, out.data, count, rocprim::plus<T>()); }, out, sums);
    name = std::string("exclusive_scan ") + type;
    if (is_wanted("exclusive_scan"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return rocprim::exclusive_scan(p, n, in.data, out.data, T(0), count, rocprim::plus<T>()); }, out, before);
#if HAS_HIPCUB
    name = std::string("hipCUB InclusiveSum ") + type;
    if (is_wanted("hipcub"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return hipcub::DeviceScan::InclusiveSum(p, n, in.data, out.data, int(count)); }, out, sums);
    name = std::string("hipCUB ExclusiveSum ") + type;
    if (is_wanted("hipcub"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return hipcub::DeviceScan::ExclusiveSum(p, n, in.data, out.data, int(count)); }, out, before);
#endif
}

struct IsOdd {
    template <class T> __host__ __device__ bool operator()(T x) const { return x & 1; }
};

template <class T> void selections(const char *type, size_t count) {
    std::vector<T> given = numbers<T>(count), odd, even;
    for (T x : given) (IsOdd()(x) ? odd : even).push_back(x);
    OnDevice<T> in(given), out(count);
    OnDevice<unsigned> found(1);
    std::string name = std::string("select ") + type;
    if (is_wanted("select"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return rocprim::select(p, n, in.data, out.data, found.data, count, IsOdd()); }, out, odd);
    // Those that are left out come from behind.
    std::vector<T> both = odd;
    both.insert(both.end(), even.rbegin(), even.rend());
    name = std::string("partition ") + type;
    if (is_wanted("partition"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return rocprim::partition(p, n, in.data, out.data, found.data, count, IsOdd()); }, out, both);
#if HAS_HIPCUB
    name = std::string("hipCUB Select ") + type;
    if (is_wanted("hipcub"))
        check<T>(name.c_str(), [&](void *p, size_t &n) { return hipcub::DeviceSelect::If(p, n, in.data, out.data, found.data, int(count), IsOdd()); }, out, odd);
#endif
}

int main(int count, char **arguments) {
    repeats = count > 1 ? atoi(arguments[1]) : 1;
    names = arguments + (count > 2 ? 2 : count);
    const size_t size = 60'000;
    scans<unsigned>("u32", size);
    scans<unsigned long>("u64", size);
    scans<unsigned short>("u16", size);
    selections<unsigned>("u32", size);
    selections<unsigned long>("u64", size);
    if (wrong) return 1;
    puts("passed");
}
