/* A fake libnvidia-ml.so.1: as many GPUs as FAKE_GPUS says, with the answers that the variables below name. For tests, on machines without a driver.
 *
 * FAKE_INIT, FAKE_MEMORY, FAKE_PROCESSES, FAKE_CAPABILITY: an error number instead of an answer.   FAKE_MIG=1, FAKE_NVLINK=<links to a switch>
 * FAKE_PID: the one process, on GPU 0.   FAKE_HANG=1: memory is never told.   FAKE_OLD=1 (compiled in): without the newer functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned int index; } Device;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } Memory2;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; } Process;
typedef struct { char legacy[16]; unsigned int domain, bus, device, ids, subsystem; char bus_id[32]; } Pci;

static Device devices[16];
static int number(const char *name, int otherwise) { const char *text = getenv(name); return text ? atoi(text) : otherwise; }

int nvmlInitWithFlags(unsigned int flags) { (void)flags; return number("FAKE_INIT", 0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 18 ? "Driver/library version mismatch" : code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = number("FAKE_GPUS", 2); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device **device) {
    if (number("FAKE_LOST", -1) == (int)index) return 15;
    devices[index].index = index; *device = &devices[index]; return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "590.48.01"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13010; return 0; }
int nvmlDeviceGetName(Device *device, char *text, unsigned int size) { (void)device; snprintf(text, size, "NVIDIA RTX PRO 6000 Blackwell Server Edition"); return 0; }
int nvmlDeviceGetUUID(Device *device, char *text, unsigned int size) { snprintf(text, size, "GPU-%u", device->index); return 0; }
int nvmlDeviceGetMemoryInfo_v2(Device *device, Memory2 *memory) {
    (void)device;
    while (number("FAKE_HANG", 0)) sleep(1);
    memory->total = 97887ULL << 20; memory->reserved = 637ULL << 20; memory->used = number("FAKE_PID", 0) && device->index == 0 ? 93783ULL << 20 : 0;
    memory->free = memory->total - memory->reserved - memory->used;
    return number("FAKE_MEMORY", 0);
}
int nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) { (void)device; *major = 12; *minor = 0; return number("FAKE_CAPABILITY", 0); }
int nvmlDeviceGetMigMode(Device *device, unsigned int *now, unsigned int *pending) { (void)device; *now = *pending = number("FAKE_MIG", 0); return 0; }
int nvmlDeviceGetPciInfo_v3(Device *device, Pci *pci) { memset(pci, 0, sizeof *pci); snprintf(pci->bus_id, 32, "00000000:%02X:00.0", 0x10 + device->index); return 0; }
#ifndef FAKE_OLD
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned int *count, Process *processes) {
    int pid = number("FAKE_PID", 0), failure = number("FAKE_PROCESSES", 0);
    if (failure) return failure;
    if (!pid || device->index) { *count = 0; return 0; }
    if (!processes || *count < 1) { *count = 1; return 7; }
    processes[0].pid = pid; processes[0].used = number("FAKE_UNTOLD", 0) ? ~0ULL : 93770ULL << 20; processes[0].gpu_instance = processes[0].compute_instance = ~0u;
    *count = 1;
    return 0;
}
#endif
int nvmlSystemGetProcessName(unsigned int pid, char *text, unsigned int size) { (void)pid; snprintf(text, size, "VLLM::Worker_TP0"); return 0; }
int nvmlDeviceGetNvLinkState(Device *device, unsigned int link, unsigned int *active) { (void)device; *active = 1; return (int)link < number("FAKE_NVLINK", 0) ? 0 : 3; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *device, unsigned int link, Pci *pci) { (void)device; memset(pci, 0, sizeof *pci); snprintf(pci->bus_id, 32, "00000000:A%u:00.0", link); return 0; }
int nvmlDeviceGetNvLinkRemoteDeviceType(Device *device, unsigned int link, unsigned int *kind) { (void)device; (void)link; *kind = 2; return 0; }
int nvmlDeviceGetTopologyCommonAncestor(Device *one, Device *other, unsigned int *level) { *level = one->index / 2 == other->index / 2 ? 10 : 50; return 0; }
int nvmlDeviceGetP2PStatus(Device *one, Device *other, unsigned int what, unsigned int *status) { (void)one; (void)other; *status = what == 0 ? 0 : 5; return 0; }
