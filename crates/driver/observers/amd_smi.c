// libamd_smi.so.26, where the real one is absent: there is no kernel driver to ask, and it says so.
#include <stddef.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 2, NOT_INIT = 32, DRIVER_NOT_LOADED = 34, NO_POINTER = 53 };

int amdsmi_init(unsigned long flags) {
    (void)flags;
    return DRIVER_NOT_LOADED;
}

int amdsmi_shut_down(void) { return NOT_INIT; }

int amdsmi_status_code_to_string(int status, const char **text) {
    if (text == NULL) return NO_POINTER;
    switch (status) {
        case SUCCESS: *text = "AMDSMI_STATUS_SUCCESS"; break;
        case NOT_SUPPORTED: *text = "AMDSMI_STATUS_NOT_SUPPORTED"; break;
        case NOT_INIT: *text = "AMDSMI_STATUS_NOT_INIT: not initialized"; break;
        case DRIVER_NOT_LOADED: *text = "AMDSMI_STATUS_DRIVER_NOT_LOADED: mock GPUs have no driver that AMD SMI could ask"; break;
        default: *text = "an unknown status"; break;
    }
    return SUCCESS;
}

#define ABSENT(name) \
    int name(void) { return NOT_INIT; }
ABSENT(amdsmi_get_gpu_metrics_info)
ABSENT(amdsmi_get_pcie_info)
ABSENT(amdsmi_get_processor_handle_from_bdf)
ABSENT(amdsmi_get_processor_handles)
ABSENT(amdsmi_get_processor_type)
ABSENT(amdsmi_get_socket_handles)
ABSENT(amdsmi_get_xgmi_info)
ABSENT(amdsmi_topo_get_link_type)
