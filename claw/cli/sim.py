"""`claw sim serve` and `claw sim env`: the simulated providers over HTTP, and the variables that point there."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Serve the simulated providers over HTTP.")

DEFAULT_PORT = 4141  # what `env` assumes when no server tells
Script = Annotated[
    Path | None,
    typer.Option("--script", envvar="CLAW_SIM_SCRIPT", help="Account document for every key that has none of its own."),
]


@app.command()
def serve(
    host: Annotated[str, typer.Option(envvar="CLAW_SIM_HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="CLAW_SIM_PORT", min=0, max=65535, help="0 takes a free one.")] = 0,
    script: Script = None,
    cassette: Annotated[
        Path | None,
        typer.Option("--cassette", metavar="FILE", envvar="CLAW_SIM_CASSETTE", help="Recorded traffic that answers."),
    ] = None,
    seed: Annotated[int, typer.Option(envvar="CLAW_SIM_SEED", help="Same seed, same bytes.")] = 0,
    strict_keys: Annotated[
        bool, typer.Option("--strict-keys", envvar="CLAW_SIM_STRICT_KEYS", help="Unknown keys get the vendor's 401.")
    ] = False,
    proxy: Annotated[
        bool,
        typer.Option("--proxy", envvar="CLAW_SIM_PROXY", help="Also be an HTTPS proxy that answers as the vendors."),
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", envvar="CLAW_SIM_ALLOW_REMOTE", help="Permit an address off loopback.")
    ] = False,
) -> None:
    """Serve until SIGTERM. When ready, one JSON line on stdout: {"url": "http://127.0.0.1:PORT", "pid": N}.

    With --proxy it has "ca" too: the file with the certificate authority that clients of the proxy must trust.
    """
    from simulators.shells.authority import AuthorityMissing
    from simulators.shells.http import Listener, bind
    from simulators.shells.proxy import Proxy
    from simulators.shells.serving import is_loopback, serve

    if not allow_remote and not is_loopback(host):
        _fail(f"{host} is not a loopback address: others could use and steer this server; say --allow-remote if meant")
    simulator = _simulator(script, seed=seed, strict_keys=strict_keys, cassette=cassette)
    try:
        sock = bind(host, port)
    except OSError as error:
        _fail(f"cannot listen on {host} port {port}: {error.strerror or error}; --port 0 takes a free one")
    try:
        tunnels = Proxy() if proxy else None
    except AuthorityMissing as error:
        sock.close()
        _fail(str(error))
    with _Notice() as notice:

        def ready(url: str) -> None:
            told = {"url": url, "pid": os.getpid()}
            line = json.dumps(told if tunnels is None else told | {"ca": str(tunnels.authority.path)})
            notice.put(line)
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

        stopped_by = serve(Listener(simulator.app(), proxy=tunnels), sock, ready=ready)
    raise SystemExit(130 if stopped_by == "SIGINT" else 0)


@app.command()
def env(
    shell: Annotated[bool, typer.Option("--shell", help='Lines for eval "$(claw sim env --shell)".')] = False,
    url: Annotated[
        str | None, typer.Option(envvar="CLAW_SIM_URL", help="Where the server is; else the one started last.")
    ] = None,
    key: Annotated[
        str, typer.Option(envvar="CLAW_SIM_KEY", help="The key names the account; two keys share nothing.")
    ] = "sk-sim",
    ca: Annotated[
        Path | None,
        typer.Option(envvar="CLAW_SIM_CA", help="The authority of a server with --proxy; else that of the one found."),
    ] = None,
) -> None:
    """Print the variables that point every SDK and CLI at the simulators; also at their proxy, if there is one."""
    from simulators.shells.environment import as_lines, as_shell, proxy_variables, variables

    found = _Notice.latest() or {}
    if url is None:
        port = os.environ.get("CLAW_SIM_PORT", "0")
        url = f"http://127.0.0.1:{port}" if port not in ("", "0") else found.get("url")
    if ca is not None and not ca.is_file():
        _fail(f"--ca {ca}: there is no such file; `claw sim serve --proxy` tells its name as `ca`")
    trusted = str(ca.absolute()) if ca is not None else found.get("ca") if url == found.get("url") else None
    if url is None:
        url = f"http://127.0.0.1:{DEFAULT_PORT}"
        typer.echo(
            f"claw sim env: no server of yours runs; start one with `claw sim serve --port {DEFAULT_PORT}`", err=True
        )
    values = variables(url, key)
    if trusted is not None:
        values |= proxy_variables(url, trusted)
    sys.stdout.write(as_shell(values) if shell else as_lines(values))


def _simulator(script: Path | None, *, seed: int, strict_keys: bool, cassette: Path | None = None) -> Any:
    from simulators import Simulator
    from simulators.core.document import Document, DocumentError, load_yaml
    from simulators.shells.serving import RealClock

    try:
        document = None if script is None else load_yaml(script.read_text("utf-8"), source=str(script))
        if cassette is not None:
            data = {} if document is None else document.data
            if not isinstance(data, dict) or "accounts" in data:
                _fail(f"--cassette {cassette} answers for one account: {script} must be the document of one")
            data = {**data, "responder": "cassette", "cassette": str(cassette.absolute())}
            document = Document(
                data, source=str(script or "--cassette"), text=None if document is None else document.text
            )
        return Simulator(seed=seed, clock=RealClock(), script=document, strict_keys=strict_keys)
    except OSError as error:
        _fail(f"{script}: {error.strerror or error}")
    except UnicodeDecodeError as error:
        _fail(f"{script}: not UTF-8 text (byte {error.start})")
    except DocumentError as error:
        _fail(str(error))


def _fail(message: str) -> Any:
    """Bad input: exit 2."""
    typer.echo(f"claw sim: {message}", err=True)
    raise SystemExit(2)


class _Notice:
    """A file that says where this server is while it runs, so that `claw sim env` finds it; one a process."""

    def __init__(self) -> None:
        self._path = self._folder() / f"{os.getpid()}.json"

    @staticmethod
    def _folder() -> Path:
        import tempfile

        runtime = os.environ.get("XDG_RUNTIME_DIR")
        return Path(runtime or tempfile.gettempdir()) / f"claw-sim-{os.getuid() if hasattr(os, 'getuid') else 0}"

    @staticmethod
    def _mine(folder: Path) -> bool:
        """Not one that somebody else has put there: the place may be a folder that all share."""
        return not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()

    def put(self, line: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            if self._mine(self._path.parent):
                self._path.write_text(line)
        except OSError:
            pass  # only a convenience: --url says the same

    def __enter__(self) -> "_Notice":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            pass

    @classmethod
    def latest(cls) -> dict[str, Any] | None:
        """What the server said that was started last and still runs, or None."""
        folder = cls._folder()
        try:
            if not cls._mine(folder):
                return None
            notices = sorted(folder.glob("*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
        except OSError:
            return None
        for notice in notices:
            try:
                found = json.loads(notice.read_text())
                os.kill(found["pid"], 0)
                return {"url": str(found["url"])} | ({"ca": str(found["ca"])} if "ca" in found else {})
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None
