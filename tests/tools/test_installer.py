"""The official installer against a site on this machine."""

import http.server
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.toolchain import installer
from tools.toolchain.commands import Commands
from tools.toolchain.progress import Progress
from tools.toolchain.versions import Version

VERSION = Version(3, 274, 1)
GOOD = b"""#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in --version) v=$2; shift ;; --install-root) r=$2; shift ;; esac
  shift
done
mkdir -p "$r/bin" && printf '#!/bin/sh\\necho v%s\\n' "$v" > "$r/bin/pulumi"
"""


class Site:
    """Serves one body, whatever is asked."""

    body = GOOD

    def __init__(self) -> None:
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(site.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    thread = threading.Thread(target=served.server.serve_forever, args=(0.05,))
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


def fetch(cache: Path, url: str) -> bool:
    out = Progress(io.StringIO(), colour=False)
    return installer.fetch(cache, VERSION, Commands(os.environ), out, url)


def test_the_asked_version_is_installed_in_the_cache(site: Site, tmp_path: Path) -> None:
    assert fetch(tmp_path, site.url)
    assert "v3.274.1" in installer.binary(tmp_path, VERSION).read_text()
    assert not list(tmp_path.rglob("*.partial"))


def test_a_script_that_fails_leaves_nothing_and_the_next_way_is_tried(site: Site, tmp_path: Path) -> None:
    site.body = b"#!/bin/sh\nmkdir -p $4/bin; touch $4/bin/pulumi; exit 1\n"

    assert not fetch(tmp_path, site.url)
    assert not installer.binary(tmp_path, VERSION).exists()


def test_a_page_of_a_captive_portal_is_not_run(site: Site, tmp_path: Path) -> None:
    site.body = b"<html>please log in</html>"

    assert not fetch(tmp_path, site.url)


def test_an_unreachable_site_is_passed_over(tmp_path: Path) -> None:
    assert not fetch(tmp_path, "http://127.0.0.1:1/")
