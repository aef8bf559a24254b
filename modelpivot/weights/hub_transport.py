"""The other transport: one file by the Hub's own library, which uses Xet where hf-xet is installed and the Hub offers it, else plain HTTP of its own.

It cannot resume and needs room for the file twice, so it is taken only where our own way brought wrong bytes: whoever spoilt them there is not
on this way. What it brings is proved like everything else. Its Xet side is untested here: there is no Xet server on loopback.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from modelpivot.errors import TransientError
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.answers import REMEDIES
from modelpivot.weights.body import Body, FolderBody


class HubTransport:
    """The repository at its pinned commit, by huggingface_hub."""

    def __init__(self, endpoint: str, manifest: Manifest, scratch: Path, *, token: str | None = None) -> None:
        self.name = f"{endpoint} by huggingface_hub"
        self._endpoint, self._manifest, self._scratch, self._token = endpoint, manifest, scratch, token

    def can_hold(self, file: ManifestFile) -> bool:
        """Whether there is room for the file a second time."""
        return shutil.disk_usage(self._scratch).free > 2 * file.size

    def open(self, file: ManifestFile, start: int) -> Body:
        """The whole file, downloaded first; then from `start` on. TransientError for whatever the library raises."""
        folder = Path(tempfile.mkdtemp(prefix="other-", dir=self._scratch))
        try:
            return HubTransportBody(self._download(file, folder), start, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def renew(self) -> None:
        """Every opening is a download of its own."""

    def _download(self, file: ManifestFile, folder: Path) -> Path:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
        try:
            found = hf_hub_download(
                self._manifest.repo,
                file.path,
                revision=self._manifest.commit,
                endpoint=self._endpoint,
                token=self._token or False,
                local_dir=folder,
            )
        except Exception as error:  # noqa: BLE001 (a door: whatever the library raises becomes ours)
            raise TransientError(f"{file.path}: huggingface_hub: {type(error).__name__}", hint=REMEDIES["unreachable"]) from None
        return Path(found)


class HubTransportBody(FolderBody):
    """A downloaded file that goes when it is read."""

    def __init__(self, path: Path, start: int, folder: Path) -> None:
        opened = path.open("rb", buffering=0)
        opened.seek(start)
        super().__init__(opened, start)
        self._folder = folder

    def close(self) -> None:
        """Close and remove it."""
        super().close()
        with contextlib.suppress(OSError):
            shutil.rmtree(self._folder)
