// librocprofiler-sdk.so.1, where the real one is absent: it has no service, and says so. Time is told.
#include <stdint.h>
#include <time.h>

enum { SUCCESS = 0, NOT_IMPLEMENTED = 17, INVALID_ARGUMENT = 19 };

int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch) {
    if (major) *major = 1;
    if (minor) *minor = 0;
    if (patch) *patch = 0;
    return SUCCESS;
}

int rocprofiler_get_timestamp(uint64_t *to) {
    struct timespec now;
    if (to == 0) return INVALID_ARGUMENT;
    clock_gettime(CLOCK_BOOTTIME, &now);
    *to = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return SUCCESS;
}

const char *rocprofiler_get_status_string(int status) {
    switch (status) {
        case SUCCESS: return "Success";
        case NOT_IMPLEMENTED: return "rocprofiler-sdk is not there: Luthier's library of its name has no service";
        case INVALID_ARGUMENT: return "Invalid argument";
        default: return 0;
    }
}

// No context is ever made.
int rocprofiler_context_is_valid(uint64_t context, int *is_valid) {
    (void)context;
    if (is_valid == 0) return INVALID_ARGUMENT;
    *is_valid = 0;
    return SUCCESS;
}

#define ABSENT(name) \
    int name(void) { return NOT_IMPLEMENTED; }
ABSENT(rocprofiler_assign_callback_thread)
ABSENT(rocprofiler_configure_buffer_tracing_service)
ABSENT(rocprofiler_configure_callback_tracing_service)
ABSENT(rocprofiler_configure_external_correlation_id_request_service)
ABSENT(rocprofiler_create_buffer)
ABSENT(rocprofiler_create_callback_thread)
ABSENT(rocprofiler_create_context)
ABSENT(rocprofiler_flush_buffer)
ABSENT(rocprofiler_force_configure)
ABSENT(rocprofiler_iterate_callback_tracing_kind_operations)
ABSENT(rocprofiler_iterate_callback_tracing_kinds)
ABSENT(rocprofiler_query_available_agents)
ABSENT(rocprofiler_query_callback_tracing_kind_name)
ABSENT(rocprofiler_query_callback_tracing_kind_operation_name)
ABSENT(rocprofiler_start_context)
ABSENT(rocprofiler_stop_context)
