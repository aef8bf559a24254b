"""GPUs as NVML tells them: one library call each instead of a child process. Looks only; sets nothing, resets nothing.

Memory is asked in its second form, which counts what driver and firmware keep apart from what processes use, as nvidia-smi shows it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import pynvml

from modelpivot.facts.nvidia_smi import short_pci, with_remedy
from modelpivot.models.facts import Gpu, GpuLink, GpuProcess, Gpus
from modelpivot.models.frozen import Unread

READ = 0
"""NVML_P2P_CAPS_INDEX_READ, which the library's Python names as a tuple."""
LEVELS = {0: "SELF", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
MOST_LINKS = 18
ABSENT = (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


class NoLibrary(Exception):
    """libnvidia-ml.so.1 is not on this host, or too old to be asked."""


def read_with_library() -> Gpus | Unread:
    """Every GPU and process. NoLibrary when there is none; Unread with the driver's words and the remedy when it does not answer."""
    try:
        with opened():
            handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
            if not handles:
                return Unread(unread=with_remedy("NVML: no devices were found"))
            driver, cuda = _ask("driver", pynvml.nvmlSystemGetDriverVersion), _read_cuda()
            gpus = [_gpu(index, handle, driver, cuda) for index, handle in enumerate(handles)]
            processes = [process for gpu, handle in zip(gpus, handles, strict=True) for process in _processes(gpu, handle)]
    except pynvml.NVMLError as error:
        return Unread(unread=with_remedy(f"NVML: {error}"))
    return Gpus(gpus=gpus, processes=processes, read_with="nvml")


def read_links_with_library() -> list[GpuLink] | Unread:
    """Every pair of GPUs: NVLinks between them, else the level of PCIe; and whether they reach each other's memory."""
    try:
        with opened():
            handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
            switched = [_count_switch_links(handle) if len(handles) > 1 else 0 for handle in handles]
            return [
                GpuLink(first=a, second=b, level=_level(handles, switched, a, b), has_p2p=_has_p2p(handles[a], handles[b]))
                for a, b in combinations(range(len(handles)), 2)
            ]
    except pynvml.NVMLError as error:
        return Unread(unread=with_remedy(f"NVML topology: {error}"))


@contextmanager
def opened() -> Iterator[None]:
    """NVML between its two ends; NoLibrary when it does not load."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        if error.value in ABSENT:
            raise NoLibrary(str(error)) from error
        raise
    try:
        yield
    except pynvml.NVMLLibraryMismatchError as error:
        raise NoLibrary(f"NVML is older than it is asked for: {error}") from error
    finally:
        pynvml.nvmlShutdown()


def _gpu(index: int, handle: Any, driver: str | Unread, cuda: str | Unread) -> Gpu:
    memory = _read_memory(handle)
    return Gpu(
        index=index,
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        name=str(pynvml.nvmlDeviceGetName(handle)),
        total_bytes=memory if isinstance(memory, Unread) else memory["total"],
        used_bytes=memory if isinstance(memory, Unread) else memory["used"],
        reserved_bytes=memory if isinstance(memory, Unread) else memory["reserved"],
        compute_capability=_capability(handle),
        driver=driver,
        cuda=cuda,
        mig=_mig(handle),
        pci=_pci(handle),
    )


def _ask(what: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or Unread: not supported, not permitted, unknown: never a zero."""
    try:
        return call(*arguments)
    except (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError) as error:
        return Unread(unread=f"NVML {what}: {error}")


def _read_memory(handle: Any) -> dict[str, int] | Unread:
    answer = _ask("memory", lambda: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2))
    if isinstance(answer, Unread):
        return answer
    if not answer.total:
        return Unread(unread="NVML memory: a total of 0 bytes")
    return {"total": answer.total, "used": answer.used, "reserved": answer.reserved}


def _capability(handle: Any) -> str | Unread:
    answer = _ask("compute capability", pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    return answer if isinstance(answer, Unread) else f"{answer[0]}.{answer[1]}"


def _mig(handle: Any) -> str | Unread:
    answer = _ask("MIG mode", pynvml.nvmlDeviceGetMigMode, handle)
    return answer if isinstance(answer, Unread) else "Enabled" if answer[0] else "Disabled"


def _pci(handle: Any) -> str:
    answer = _ask("PCI address", pynvml.nvmlDeviceGetPciInfo, handle)
    return "" if isinstance(answer, Unread) else short_pci(_text(answer.busId))


def _read_cuda() -> str | Unread:
    answer = _ask("CUDA version", pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return answer if isinstance(answer, Unread) else f"{answer // 1000}.{answer % 1000 // 10}"


def _processes(gpu: Gpu, handle: Any) -> list[GpuProcess]:
    """Raises NVMLError when the list is refused: that is no empty list."""
    return [
        GpuProcess(gpu_uuid=gpu.uuid, pid=each.pid, name=_name(each.pid), used_bytes=_used(each.usedGpuMemory))
        for each in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    ]


def _name(pid: int) -> str:
    answer = _ask("process name", pynvml.nvmlSystemGetProcessName, pid)
    return f"[{answer.unread}]" if isinstance(answer, Unread) else _text(answer)


def _used(size: int | None) -> int | Unread:
    return Unread(unread="NVML process memory: not available") if size is None else size


def _level(handles: list[Any], switched: list[int], a: int, b: int) -> str:
    if links := _count_direct_links(handles[a], handles[b]) or min(switched[a], switched[b]):
        return f"NV{links}"
    answer = _ask("topology", pynvml.nvmlDeviceGetTopologyCommonAncestor, handles[a], handles[b])
    return "unknown" if isinstance(answer, Unread) else LEVELS.get(answer, "unknown")


def _remotes(handle: Any) -> Iterator[tuple[int, Any]]:
    for link in range(MOST_LINKS):
        if _ask("NVLink state", pynvml.nvmlDeviceGetNvLinkState, handle, link) == pynvml.NVML_FEATURE_ENABLED:
            yield link, _ask("NVLink remote", pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)


def _count_direct_links(handle: Any, other: Any) -> int:
    wanted = _pci(other)
    return sum(not isinstance(remote, Unread) and short_pci(_text(remote.busId)) == wanted for _, remote in _remotes(handle))


def _count_switch_links(handle: Any) -> int:
    """Links that end at an NVSwitch: every GPU on it reaches every other one."""
    kinds = (_ask("NVLink kind", pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link) for link, _ in _remotes(handle))
    return sum(kind == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH for kind in kinds)


def _has_p2p(handle: Any, other: Any) -> bool | Unread:
    answer = _ask("P2P", pynvml.nvmlDeviceGetP2PStatus, handle, other, READ)
    return answer if isinstance(answer, Unread) else answer == pynvml.NVML_P2P_STATUS_OK


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
