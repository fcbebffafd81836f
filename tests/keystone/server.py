"""A real keystone: its database, its keys, and the servers that work on them."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

from tests.functional.placement.serving.programs import Server, free_port
from tests.patience import PATIENCE

CONFIGURATION = """\
[DEFAULT]
debug = false
[database]
connection = sqlite:///{folder}/keystone.db?timeout=60
sqlite_synchronous = false
[fernet_tokens]
key_repository = {folder}/fernet-keys
[fernet_receipts]
key_repository = {folder}/fernet-receipts
[credential]
key_repository = {folder}/credential-keys
[token]
expiration = {expiration}
"""
SERVER = """\
wsgi_app = "keystone.wsgi.api:application"
bind = "127.0.0.1:{port}"
# one request at a time: SQLite refuses a transaction that has read and now wants to write while
# another one does the same
threads = 1
# keystone is imported before it listens
preload_app = True
control_socket_disable = True
"""
REGION = "RegionOne"
ADMIN_PASSWORD = "ADMIN_PASS"
HOUR = 3600
#: seconds that a brief token is valid: enough for a request on a busy machine
BRIEF = 15


@dataclasses.dataclass(frozen=True)
class Site:
    """Where keystone is: its programs, and the folder with its database and keys."""

    programs: Path
    folder: Path

    def configuration(self, name: str = "keystone", expiration: int = HOUR) -> Path:
        """Write a configuration file; return its path.

        :param expiration: how many seconds tokens are valid
        """
        path = self.folder / f"{name}.conf"
        path.write_text(CONFIGURATION.format(folder=self.folder, expiration=expiration))
        return path

    def manage(self, *arguments: str) -> None:
        """Run `keystone-manage`, which must succeed."""
        command = [self.programs / "keystone-manage", "--config-file", self.configuration()]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr

    def owner(self) -> tuple[str, ...]:
        """Return the arguments of `keystone-manage` that say whose the keys are."""
        return "--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())

    def copied(self, folder: Path) -> "Site":
        """Copy the database and the keys to a new folder."""
        shutil.copytree(self.folder, folder)
        return dataclasses.replace(self, folder=folder)

    def initialise(self, url: str) -> None:
        """Create the database and the keys in the folder, and bootstrap keystone for an address."""
        self.manage("db_sync")
        for keys in ("fernet_setup", "credential_setup"):
            self.manage(keys, *self.owner())
        addresses = [
            argument
            for interface in ("admin", "internal", "public")
            for argument in (f"--bootstrap-{interface}-url", url)
        ]
        password = ["--bootstrap-password", ADMIN_PASSWORD]
        self.manage("bootstrap", *password, "--bootstrap-region-id", REGION, *addresses)


class Keystone:
    """A keystone served by gunicorn on the loopback interface.

    :param expiration: how many seconds the tokens are valid that this server issues
    :param more: variables of its environment, for options of its middleware: that reads the
        default files, and not the site's
    """

    def __init__(self, site: Site, name: str, expiration: int = HOUR, **more: str) -> None:
        self.site = site
        self.port = free_port()
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v3"
        self._name = name
        self._expiration = expiration
        self._more = more
        self._server: Server | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        conf = self.site.configuration(self._name, self._expiration)
        plain = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        plain.pop("PYTHONPATH", None)
        environ = plain | {"OS_KEYSTONE_CONFIG_FILES": str(conf)} | self._more
        folder = self.site.folder / self._name
        folder.mkdir(exist_ok=True)
        # keystone would take arguments of gunicorn's for its own
        (folder / "gunicorn.conf.py").write_text(SERVER.format(port=self.port))
        command = [str(self.site.programs / "gunicorn")]
        self._server = Server(command, folder, environ, self.url)
        self._server.wait_until(None, PATIENCE)

    def stop(self) -> None:
        """Stop the server, so that connections are refused; repeated calls are harmless."""
        if self._server is not None:
            self._server.kill()
            self._server = None

    def said(self) -> str:
        """Return what the server has logged."""
        assert self._server is not None
        return self._server.said()
