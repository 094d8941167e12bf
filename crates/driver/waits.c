// Preloaded for a runtime that waits by polling (ROCm 7's, below libdtif.so): what waits for a signal sleeps in the driver
// until the signal has what is waited for, and asks the runtime then. The driver hears of signals that have handlers, or that
// the program makes, looks at or changes, of runs of handlers, and of the runtime's own threads. A process that ends waits
// for the handlers that are due. Where the driver is not loaded, all is as without this.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t handle;
} signal_t;
typedef uint64_t driver_wait(uint64_t, int, int64_t, uint64_t);
typedef void driver_signal(uint64_t);
typedef void driver_changes(uint64_t, int64_t);
typedef void driver_copies(uint64_t, uint64_t, uint64_t);
typedef uint64_t driver_handled(uint64_t, int, int64_t);
typedef void driver_handler_ends(uint64_t, int);
typedef void driver_thread(int);
typedef void driver_settle(void);
typedef void driver_reminder(void (*)(void));

static driver_wait *sleep_until;
static driver_signal *handler_begins, *handler_refused, *changed, *destroyed, *made, *seen, *awaits;
static driver_changes *changes;
static driver_copies *copies;
static driver_handled *handled;
static driver_handler_ends *handler_ends;
static driver_settle *settle;

static void remind(void);
static driver_thread *poller;

// The driver is loaded when HSA is initialised.
static bool has_driver(void) {
    static bool found;
    if (__atomic_load_n(&found, __ATOMIC_ACQUIRE)) return true;
    void *driver = dlopen("libhsakmt.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == NULL) return false;
    sleep_until = (driver_wait *)dlsym(driver, "luthierWait");
    handled = (driver_handled *)dlsym(driver, "luthierHandled");
    handler_begins = (driver_signal *)dlsym(driver, "luthierHandlerBegins");
    handler_ends = (driver_handler_ends *)dlsym(driver, "luthierHandlerEnds");
    handler_refused = (driver_signal *)dlsym(driver, "luthierHandlerRefused");
    settle = (driver_settle *)dlsym(driver, "luthierSettle");
    driver_reminder *reminder = (driver_reminder *)dlsym(driver, "luthierReminder");
    changed = (driver_signal *)dlsym(driver, "luthierChanged");
    destroyed = (driver_signal *)dlsym(driver, "luthierDestroyed");
    changes = (driver_changes *)dlsym(driver, "luthierChanges");
    made = (driver_signal *)dlsym(driver, "luthierMade");
    seen = (driver_signal *)dlsym(driver, "luthierSeen");
    awaits = (driver_signal *)dlsym(driver, "luthierAwaits");
    copies = (driver_copies *)dlsym(driver, "luthierCopies");
    poller = (driver_thread *)dlsym(driver, "luthierPoller");
    if (!sleep_until || !handled || !handler_begins || !handler_ends || !handler_refused || !changed || !destroyed || !changes || !made || !seen || !awaits || !copies || !poller || !settle ||
        !reminder)
        return false;
    reminder(remind);
    __atomic_store_n(&found, true, __ATOMIC_RELEASE);
    return true;
}

// The runtime's own, which may be loaded where nothing but its user finds it, as Python's ctypes does.
static void *of_runtime(const char *name) {
    void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
    return runtime != NULL ? dlsym(runtime, name) : dlsym(RTLD_NEXT, name);
}

#define NEXT(name) ((__typeof__(&name))of_runtime(#name))

// The runtime's clock has nanoseconds. It polls for the time that it is given: HIP 7 gives it 4 ms, again and again.
#define WAITS(name)                                                                                      \
    int64_t name(signal_t signal, int condition, int64_t value, uint64_t timeout, int state) {           \
        static __typeof__(&name) real;                                                                   \
        if (real == NULL) real = NEXT(name);                                                             \
        if (has_driver()) timeout = sleep_until(signal.handle, condition, value, timeout);               \
        int64_t now = real(signal, condition, value, timeout, state);                                    \
        if (has_driver()) seen(signal.handle);                                                           \
        return now;                                                                                      \
    }
WAITS(hsa_signal_wait_scacquire)
WAITS(hsa_signal_wait_relaxed)
WAITS(hsa_signal_wait_acquire)

#define LOOKS(name)                                                                                      \
    int64_t name(signal_t signal) {                                                                      \
        static __typeof__(&name) real;                                                                   \
        if (real == NULL) real = NEXT(name);                                                             \
        int64_t now = real(signal);                                                                      \
        if (has_driver()) seen(signal.handle);                                                           \
        return now;                                                                                      \
    }
LOOKS(hsa_signal_load_relaxed)
LOOKS(hsa_signal_load_scacquire)
LOOKS(hsa_signal_load_acquire)

#define CHANGES(name)                                                                                    \
    void name(signal_t signal, int64_t value) {                                                          \
        static __typeof__(&name) real;                                                                   \
        if (real == NULL) real = NEXT(name);                                                             \
        if (has_driver()) changes(signal.handle, value);                                                 \
        real(signal, value);                                                                             \
        if (has_driver()) changed(signal.handle);                                                        \
    }
CHANGES(hsa_signal_store_relaxed)
CHANGES(hsa_signal_store_screlease)
CHANGES(hsa_signal_store_release)
CHANGES(hsa_signal_silent_store_relaxed)
CHANGES(hsa_signal_silent_store_screlease)

#define EXCHANGES(name)                                                                                  \
    int64_t name(signal_t signal, int64_t value) {                                                       \
        static __typeof__(&name) real;                                                                   \
        if (real == NULL) real = NEXT(name);                                                             \
        if (has_driver()) changes(signal.handle, value);                                                 \
        int64_t old = real(signal, value);                                                               \
        if (has_driver()) changed(signal.handle), seen(signal.handle);                                   \
        return old;                                                                                      \
    }
#define COMPARES(name)                                                                                   \
    int64_t name(signal_t signal, int64_t expected, int64_t value) {                                     \
        static __typeof__(&name) real;                                                                   \
        if (real == NULL) real = NEXT(name);                                                             \
        if (has_driver()) changes(signal.handle, value);                                                 \
        int64_t old = real(signal, expected, value);                                                     \
        if (has_driver()) changed(signal.handle), seen(signal.handle);                                   \
        return old;                                                                                      \
    }
// Each of them with every order of memory; the last three are the names of HSA 1.0.
#define ORDERS(AS, name) \
    AS(name##_relaxed) AS(name##_scacquire) AS(name##_screlease) AS(name##_scacq_screl) \
    AS(name##_acquire) AS(name##_release) AS(name##_acq_rel)
ORDERS(CHANGES, hsa_signal_add)
ORDERS(CHANGES, hsa_signal_subtract)
ORDERS(CHANGES, hsa_signal_and)
ORDERS(CHANGES, hsa_signal_or)
ORDERS(CHANGES, hsa_signal_xor)
ORDERS(EXCHANGES, hsa_signal_exchange)
ORDERS(COMPARES, hsa_signal_cas)

struct handler {
    bool (*run)(int64_t, void *);
    void *argument;
    uint64_t number;
};

// Handlers that this thread is in.
static __thread int inside;

static bool run_handler(int64_t value, void *argument) {
    struct handler *handler = argument;
    handler_begins(handler->number);
    inside++;
    bool again = handler->run(value, handler->argument);
    inside--;
    handler_ends(handler->number, again);
    if (!again) free(handler);
    return again;
}

int hsa_amd_signal_async_handler(signal_t signal, int condition, int64_t value, bool (*run)(int64_t, void *), void *argument) {
    static __typeof__(&hsa_amd_signal_async_handler) real;
    if (real == NULL) real = NEXT(hsa_amd_signal_async_handler);
    // Before: it may be called at once. After: the runtime's thread has to see that there is one more.
    uint64_t number = has_driver() ? handled(signal.handle, condition, value) : 0;
    struct handler *handler = number && run ? malloc(sizeof *handler) : NULL;
    if (handler) *handler = (struct handler){run, argument, number};
    else if (number) handler_refused(number);
    int status = handler ? real(signal, condition, value, run_handler, handler) : real(signal, condition, value, run, argument);
    if (handler && status) {
        handler_refused(number);
        free(handler);
    }
    if (has_driver()) changed(signal.handle);
    return status;
}

static void nothing(void *unused) { (void)unused; }

// The runtime looks for new handlers when it gets a function to call.
static void remind(void) {
    int (*call)(void (*)(void *), void *) = of_runtime("hsa_amd_async_function");
    if (call) call(nothing, NULL);
}

// The loader ends what is preloaded before HIP, whose destructors take apart what its handlers use.
__attribute__((destructor)) static void end(void) {
    if (!inside && has_driver()) settle();
}

// Two ways to make a signal; one that more processes see is another's, too.
int hsa_signal_create(int64_t value, uint32_t count, const void *consumers, signal_t *signal) {
    static __typeof__(&hsa_signal_create) real;
    if (real == NULL) real = NEXT(hsa_signal_create);
    int status = real(value, count, consumers, signal);
    if (status == 0 && has_driver()) made(signal->handle);
    return status;
}

int hsa_amd_signal_create(int64_t value, uint32_t count, const void *consumers, uint64_t attributes, signal_t *signal) {
    static __typeof__(&hsa_amd_signal_create) real;
    if (real == NULL) real = NEXT(hsa_amd_signal_create);
    int status = real(value, count, consumers, attributes, signal);
    if (status == 0 && has_driver() && !(attributes & 2 /* IPC */)) made(signal->handle);
    return status;
}

int hsa_signal_destroy(signal_t signal) {
    static __typeof__(&hsa_signal_destroy) real;
    if (real == NULL) real = NEXT(hsa_signal_destroy);
    if (has_driver()) destroyed(signal.handle);
    return real(signal);
}

static void begin_copy(const void *to, size_t size, uint32_t count, const signal_t *signals, signal_t done) {
    for (uint32_t i = 0; signals && i < count && has_driver(); i++) awaits(signals[i].handle);
    if (has_driver()) copies(done.handle, (uintptr_t)to, size);
}

// Copies: the runtime looks itself whether what they wait for is done.
int hsa_amd_memory_async_copy(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size, uint32_t count,
                              const signal_t *signals, signal_t done) {
    static __typeof__(&hsa_amd_memory_async_copy) real;
    if (real == NULL) real = NEXT(hsa_amd_memory_async_copy);
    begin_copy(to, size, count, signals, done);
    return real(to, to_agent, from, from_agent, size, count, signals, done);
}

int hsa_amd_memory_async_copy_on_engine(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
                                        uint32_t count, const signal_t *signals, signal_t done, int engine, bool forced) {
    static __typeof__(&hsa_amd_memory_async_copy_on_engine) real;
    if (real == NULL) real = NEXT(hsa_amd_memory_async_copy_on_engine);
    begin_copy(to, size, count, signals, done);
    return real(to, to_agent, from, from_agent, size, count, signals, done, engine, forced);
}

typedef struct {
    uint32_t x, y, z;
} dim3_t;
typedef struct {
    void *base;
    size_t pitch, slice;
} pitched_t;

int hsa_amd_memory_async_copy_rect(const pitched_t *to, const dim3_t *to_offset, const void *from, const void *from_offset,
                                   const dim3_t *range, uint64_t agent, int direction, uint32_t count, const signal_t *signals,
                                   signal_t done) {
    static __typeof__(&hsa_amd_memory_async_copy_rect) real;
    if (real == NULL) real = NEXT(hsa_amd_memory_async_copy_rect);
    // From the base on to behind the box.
    size_t size = (to_offset->z + range->z) * to->slice + (to_offset->y + range->y) * to->pitch + to_offset->x + range->x;
    begin_copy(to->base, size, count, signals, done);
    return real(to, to_offset, from, from_offset, range, agent, direction, count, signals, done);
}

struct start {
    void *(*run)(void *);
    void *argument;
};

static void leave(void *unused) {
    (void)unused;
    if (has_driver()) poller(0);
}

static void *run_poller(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    void *result = NULL;
    pthread_cleanup_push(leave, NULL);
    if (has_driver()) poller(1);
    result = start.run(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static __typeof__(&pthread_create) real;
    if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
    Dl_info caller;
    struct start *start = NULL;
    if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname && strstr(caller.dli_fname, "libhsa-runtime64"))
        start = malloc(sizeof *start);
    if (start == NULL) return real(thread, attributes, run, argument);
    *start = (struct start){run, argument};
    int status = real(thread, attributes, run_poller, start);
    if (status) free(start);
    return status;
}
