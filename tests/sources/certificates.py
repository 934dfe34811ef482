"""An authority of one's own and certificates that it signs, made by openssl when a test needs them:
good ones, and each kind that is refused."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Authority:
    """Files of an authority: ``trusted`` is what SSL_CERT_FILE may name."""

    folder: Path

    @property
    def trusted(self) -> Path:
        return self.folder / "authority.pem"

    def hashed(self, folder: Path) -> Path:
        """A folder with its certificate, as SSL_CERT_DIR may name it."""
        shutil.copy(self.trusted, folder)
        _openssl("rehash", folder)
        return folder

    def signed(self, name: str, host: str = "localhost", days: int = 2) -> Path:
        """A certificate for a host with its key, in one file; expired where ``days`` is below 0."""
        kind = "IP" if ":" in host or host[0].isdigit() else "DNS"
        extensions = self.folder / f"{name}.cnf"
        extensions.write_text(f"subjectAltName={kind}:{host}\n")
        key, request, made = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        _openssl("req", *_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={host}")
        _openssl(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            self.trusted,
            "-days",
            str(days),
            "-CAkey",
            self.folder / "authority.key",
            "-CAcreateserial",
            "-extfile",
            extensions,
            "-out",
            made,
        )
        made.write_text(made.read_text() + key.read_text())
        return made


def authority(folder: Path) -> Authority:
    """A new one. Skips the test where there is no openssl to make it."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl")
    key = folder / "authority.key"
    made = folder / "authority.pem"
    subject = ("-subj", "/CN=An authority of one's own", "-days", "2")
    _openssl("req", "-x509", *_KEY, "-keyout", key, "-out", made, *subject)
    return Authority(folder)


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["openssl", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
