"""Devices: what this machine has, checked before a model is loaded: the device, its precision, its free memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import torch
from huggingface_hub import get_local_safetensors_metadata, get_safetensors_metadata
from huggingface_hub.errors import SafetensorsParsingError

from core.errors import MissingModelError, SettingError
from models.folders import find_folder

DTYPES = ("float32", "bfloat16", "float16")
AUTO = "auto"  # bfloat16 where the device multiplies it fast, else float32
MEMORY = Path("/proc/meminfo")  # of Linux
GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


def check_device(device: str, dtype: str = "float32") -> None:
    """Raises SettingError for a device that this machine lacks, and for a dtype that is unknown or not supported."""
    try:
        asked = torch.device(device)
    except RuntimeError:
        raise SettingError(f"device must be cpu, cuda, cuda:NUMBER or mps, but is {device!r}") from None
    if dtype not in (*DTYPES, AUTO):
        raise SettingError(f"dtype must be one of {', '.join((*DTYPES, AUTO))}, but is {dtype!r}")
    if asked.type == "cpu":
        return
    there = torch.accelerator.current_accelerator(check_available=True)
    count = torch.accelerator.device_count() if there is not None and there.type == asked.type else 0
    if (asked.index or 0) >= count:
        raise SettingError(
            f"device={device}, but this machine has {count} devices of the kind {asked.type}: set another device, or "
            "install a torch that was built for it"
        )
    if asked.type == "cuda" and dtype == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise SettingError(
            f"dtype=bfloat16, but {torch.cuda.get_device_name(asked)} does not support bfloat16: set float16 or float32"
        )


def choose_dtype(device: str, dtype: str) -> str:
    """Returns the dtype. For `auto` it is bfloat16 if the device multiplies it fast, else float32.

    A CPU with AVX512-BF16 or AMX is fast at bfloat16. Other CPUs emulate it, which is slower than float32.
    """
    if dtype != AUTO:
        return dtype
    if torch.device(device).type == "cuda":
        is_fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        known = torch.cpu.get_capabilities()
        is_fast = torch.device(device).type == "cpu" and bool(known.get("avx512_bf16") or known.get("amx_bf16"))
    return "bfloat16" if is_fast else "float32"


def check_memory(name: str | Path, dtype: str, *devices: str) -> None:
    """Raises SettingError if the weights of a model (safetensors) need more memory than one of the devices has free."""
    count = count_weights(name)
    if count is None:
        return
    needed = count * getattr(torch, dtype).itemsize
    for device in dict.fromkeys(devices):
        free = free_memory(device)
        if free is not None and needed > free:
            raise SettingError(
                f"the weights of {name} ({count / 1e9:.2f} billion) need {needed / 1e9:.1f} GB in {dtype}, but "
                f"{device} has {free / 1e9:.1f} GB free: set a smaller model, another device"
                + (", or dtype=bfloat16 for half of it" if dtype == "float32" else "")
            )


def count_weights(name: str | Path) -> int | None:
    """Counts the weights of a model from the headers of its safetensors files; None if it has no such files.

    For a model on the hub only the headers are fetched; in offline mode nothing is fetched. Raises MissingModelError
    for a damaged or incomplete file.
    """
    folder = find_folder(name)
    if folder is None and (Path(name).exists() or huggingface_hub.constants.HF_HUB_OFFLINE):
        return None
    try:
        metadata = get_safetensors_metadata(str(name)) if folder is None else get_local_safetensors_metadata(folder)
    except SafetensorsParsingError as error:
        raise MissingModelError(str(name), f"{error}: fetch the model again") from error
    # The loading says why the hub does not give the model, and what is wrong with an index of weights.
    except Exception:
        return None
    return sum(metadata.parameter_count.values())


@contextmanager
def set_aside(*models: Any) -> Iterator[None]:
    """Moves models to the CPU during the block, so that other models can train with the memory of their device."""
    devices = [model.device for model in models]
    for model in models:
        model.to("cpu")
    torch.cuda.empty_cache()
    try:
        yield
    finally:
        for model, device in zip(models, devices, strict=True):
            model.to(device)


def free_memory(device: str | torch.device) -> int | None:
    """Returns the free memory of a device in bytes; None if the system does not report it."""
    match torch.device(device).type:
        case "cuda":
            return torch.cuda.mem_get_info(device)[0]
        case "cpu" if MEMORY.is_file():
            lines = dict(line.split(":") for line in MEMORY.read_text(encoding="utf-8").splitlines())
            free = int(lines["MemAvailable"].split()[0]) * 1024
            limit = GROUP_LIMIT.read_text(encoding="utf-8").strip() if GROUP_LIMIT.is_file() else "max"
            return free if limit == "max" else min(free, int(limit))
        case _:
            return None
