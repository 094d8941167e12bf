// librocm_smi64.so.1, where the real one is absent: there is no kernel driver to ask, and it says so.
#include <stddef.h>
#include <stdint.h>

enum { SUCCESS = 0, INVALID_ARGUMENTS = 1, NOT_SUPPORTED = 2, INIT_ERROR = 8 };

int rsmi_init(uint64_t flags) {
    (void)flags;
    return INIT_ERROR;
}

int rsmi_shut_down(void) { return INIT_ERROR; }

int rsmi_status_string(int status, const char **text) {
    if (text == NULL) return INVALID_ARGUMENTS;
    switch (status) {
        case SUCCESS: *text = "RSMI_STATUS_SUCCESS"; break;
        case INVALID_ARGUMENTS: *text = "RSMI_STATUS_INVALID_ARGS"; break;
        case NOT_SUPPORTED: *text = "RSMI_STATUS_NOT_SUPPORTED"; break;
        case INIT_ERROR: *text = "RSMI_STATUS_INIT_ERROR: mock GPUs have no driver that ROCm SMI could ask"; break;
        default: *text = "an unknown status"; break;
    }
    return SUCCESS;
}

#define ABSENT(name) \
    int name(void) { return INIT_ERROR; }
ABSENT(rsmi_version_get)
ABSENT(rsmi_num_monitor_devices)
ABSENT(rsmi_dev_pci_id_get)
ABSENT(rsmi_dev_name_get)
ABSENT(rsmi_dev_memory_total_get)
ABSENT(rsmi_dev_memory_usage_get)
ABSENT(rsmi_dev_temp_metric_get)
ABSENT(rsmi_topo_get_link_type)
ABSENT(rsmi_topo_get_link_weight)
ABSENT(rsmi_minmax_bandwidth_get)
