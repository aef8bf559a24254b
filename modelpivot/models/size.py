"""Bytes as people read them: both units, since vendors, tools and disks do not agree on one."""


def say_bytes(count: int) -> str:
    """`540.1 GB (503.0 GiB)`; small counts in MB (MiB) or bytes."""
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB ({count / 2**30:.1f} GiB)"
    if count >= 10**6:
        return f"{count / 10**6:.1f} MB ({count / 2**20:.1f} MiB)"
    return f"{count} bytes"
