// A tool that hands the agent the table of another runtime: longer, as a newer one has it, with another major version, or
// shorter. What the agent puts into that table is then put into the real one.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

static void *agent;

static void newer() { abort(); }

// A table's words, with some more behind them or without some of the last.
template <typename T> static std::vector<void *> changed(const T *table, int more) {
    std::vector<void *> words(table->version.minor_id / sizeof(void *) + more, (void *)newer);
    size_t known = std::min<size_t>(words.size() * sizeof(void *), table->version.minor_id);
    memcpy(words.data(), table, known);
    ((ApiTableVersion *)words.data())->minor_id = words.size() * sizeof(void *);
    return words;
}

template <typename T> static void put_back(T *table, const std::vector<void *> &words) {
    size_t header = sizeof table->version, size = std::min<size_t>(words.size() * sizeof(void *), table->version.minor_id);
    memcpy((char *)table + header, (const char *)words.data() + header, size - header);
    for (size_t i = table->version.minor_id / sizeof(void *); i < words.size(); i++)
        if (words[i] != (void *)newer) fprintf(stderr, "table tool: a new entry was changed\n");
}

extern "C" bool OnLoad(HsaApiTable *table, uint64_t version, uint64_t failed, const char *const *names) {
    const char *how = getenv("TABLE");
    agent = dlopen(getenv("AGENT"), RTLD_NOW);
    auto load = (decltype(OnLoad) *)dlsym(agent, "OnLoad");
    bool is_longer = !strcmp(how, "longer");
    // Two more of AMD's: with three the agent would take 5.2.3's order for that of the next version.
    int more = is_longer ? 40 : 0, amd = !strcmp(how, "shorter") ? -20 : is_longer ? 2 : 0;
    // They stay: the agent looks at them as long as the process lives.
    static std::vector<void *> core, extensions, root;
    core = changed(table->core_, more), extensions = changed(table->amd_ext_, amd), root = changed(table, more);
    auto made = (HsaApiTable *)root.data();
    made->core_ = (CoreApiTable *)core.data(), made->amd_ext_ = (AmdExtTable *)extensions.data();
    if (!strcmp(how, "major")) made->version.major_id += 3;
    if (!strcmp(how, "core")) made->core_->version.major_id += 3;
    if (!strcmp(how, "extensions")) made->amd_ext_->version.major_id += 7;
    bool done = load(made, version, failed, names);
    put_back(table->core_, core), put_back(table->amd_ext_, extensions);
    size_t known = table->version.minor_id / sizeof(void *);
    for (size_t i = known; i < root.size(); i++)
        if (root[i] != (void *)newer) fprintf(stderr, "table tool: the root was changed\n");
    return done;
}

extern "C" void OnUnload() { ((void (*)())dlsym(agent, "OnUnload"))(); }
