"""What `placement-manage compare` does: ask two services, compare, and print the result."""

import contextlib
import functools
import io
import json
import logging
import os
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import urllib3
from oslo_config import cfg

from placement import config
from placement.compare import access_log, exit_codes, report, sample
from placement.compare.answers import Reader
from placement.compare.asking import (
    ComparedService,
    HTTPService,
    Pace,
    Paced,
    TokenRefused,
    Unanswered,
    UnusableURL,
)
from placement.compare.asking_in_process import WSGIService
from placement.compare.deviations import SHARING
from placement.compare.request import (
    NO_VERSION,
    VERSION,
    Request,
    UnusableFile,
    read_requests,
)
from placement.compare.run import INTERRUPTED, Comparison
from placement.compare.tokens import GivenToken, KeystoneToken, NoToken, token_from
from placement.compare.verdict import Judge
from placement.config import logs

PROGRAM = "placement-manage compare"
#: what the request of an administrator who may do everything says, without keystone
_CALLER = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
#: seconds of the longest pause before answers are compared again
_LONGEST_PAUSE = 5
STANDARD_INPUT = "-"


class Unfit(Exception):
    """A service can't be compared; the message is a sentence."""


def run(conf: cfg.ConfigOpts, environ: Mapping[str, str] = os.environ) -> int:
    """Compare as the command line says, print the result, and return the exit code."""
    _log_to_standard_error(conf)
    try:
        with _services(conf, environ) as (other, this):
            return _compared(conf, other, this)
    except (Unfit, NoToken, sample.NoSample, Unanswered) as error:
        return _failed(str(error))
    except TokenRefused as error:
        return _failed(
            f"{error} refuses the token (401): give a valid one, for example in OS_TOKEN."
        )
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted before anything was compared", file=sys.stderr)
        return exit_codes.INTERRUPTED


def _failed(message: str) -> int:
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    return exit_codes.INCOMPLETE


def _log_to_standard_error(conf: cfg.ConfigOpts) -> None:
    """Log warnings to standard error, and leave the log files of the running service alone."""
    for name in ("log_config_append", "log_file", "log_dir"):
        conf.set_override(name, None)
    conf.set_override("use_stderr", True)
    conf.set_override("use_syslog", False)
    conf.set_override("use_journal", False)
    logs.set_up(conf, config.PROJECT)
    if not conf.debug:
        logging.getLogger().setLevel(logging.WARNING)
        for name in ("placement", "placement.requestlog", "urllib3", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)


@contextlib.contextmanager
def _services(
    conf: cfg.ConfigOpts, environ: Mapping[str, str]
) -> Iterator[tuple[ComparedService, ComparedService]]:
    """Yield the other service and this one."""
    arguments = conf.command
    if arguments.insecure:
        # the operator knows
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    verify: bool | str = arguments.cacert or not arguments.insecure
    if arguments.cacert and not os.access(arguments.cacert, os.R_OK):
        arguments.usage_error(f"--cacert: {arguments.cacert} can't be read")
    token = token_from(environ, arguments.token, arguments.os_cloud, verify)
    other_token = GivenToken(arguments.token_with) if arguments.token_with else token
    other = _over_http(arguments, "--with", arguments.other, other_token)
    with contextlib.ExitStack() as stack:
        if arguments.url is not None:
            this: ComparedService = _over_http(arguments, "--url", arguments.url, token)
        else:
            this = stack.enter_context(_in_process(conf, other.mount))
        yield Paced(other, Pace(arguments.rate)), Paced(this, Pace(arguments.rate))


def _over_http(
    arguments: Any, option: str, url: str, token: GivenToken | KeystoneToken
) -> HTTPService:
    try:
        return HTTPService(
            url,
            token,
            arguments.timeout,
            arguments.concurrency,
            arguments.cacert,
            arguments.insecure,
        )
    except UnusableURL as error:
        arguments.usage_error(f"{option}: {error}")
        raise AssertionError("usage_error exits") from error


@contextlib.contextmanager
def _in_process(conf: cfg.ConfigOpts, mount: str) -> Iterator[ComparedService]:
    """Yield a service that reads the configured database in this process."""
    if not conf.placement_database.connection:
        raise Unfit(
            "[placement_database]connection isn't configured: name the configuration with "
            "`placement-manage --config-file FILE compare …`, or a running service with --url."
        )
    # imported here, because a comparison of two running services needs none of it
    from placement.app import start_reading

    conf.set_override("auth_strategy", "noauth2", group="api")
    running = start_reading(conf)
    try:
        yield WSGIService(
            f"in this process, {shown_url(conf.placement_database.connection)}",
            running.application,
            mount,
            _CALLER,
            running.snapshot.forget,
        )
    finally:
        running.close()


def shown_url(connection: str) -> str:
    """Return the URL of a database without its password and its parameters."""
    from placement.storage.driver.dialects import read_url

    return read_url(connection).set(query={}).render_as_string(hide_password=True)


def _compared(conf: cfg.ConfigOpts, other: ComparedService, this: ComparedService) -> int:
    arguments = conf.command
    newest = min(_newest(other, "--with"), _newest(this, "--url"))
    for service in (other, this):
        _check_token(service, newest)
    requests, skipped = _requests(arguments, other, newest)
    if not requests:
        raise Unfit(_nothing(skipped))
    _say(f"Comparing {len(requests)} requests: this service {this.name}, other {other.name}")
    judge = Judge(
        Reader(mount=other.mount),
        Reader(mount=this.mount),
        other.mount,
        this.mount,
        _LazyCloud(other, conf.workarounds.optimize_for_wide_provider_trees),
        _most_candidates(conf),
    )
    comparison = Comparison(
        other,
        this,
        judge,
        arguments.tries,
        arguments.concurrency,
        lambda number: time.sleep(min(_LONGEST_PAUSE, 2 ** (number - 1))),
        functools.partial(_progress, len(requests)),
    )
    tally = comparison.run(requests)
    _end_of_progress()
    compared = report.Compared(this.name, other.name, len(requests), tally, skipped)
    code = report.exit_code(compared, tally.ended == INTERRUPTED)
    if arguments.format == "json":
        return _shown(report.as_json(compared, arguments.show, code), code)
    return _shown(report.text(compared, arguments.show), code)


def _shown(result: str, code: int) -> int:
    """Print the result, and return the exit code: a result that nobody sees proves nothing."""
    try:
        print(result, flush=True)
    except OSError as error:
        # what is buffered would be written again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _failed(f"the result can't be written: {error.strerror}")
    return code


def _most_candidates(conf: cfg.ConfigOpts) -> int | None:
    """Return how many candidates a search generates at most; None: any number."""
    most = conf.command.max_candidates
    if most is None:
        most = conf.placement.max_allocation_candidates
        # 0 has the effect of 1
        most = None if most < 0 else max(1, most)
    return most


class _LazyCloud:
    """What deviations depend on; asked when it is needed first."""

    def __init__(self, other: ComparedService, optimizes_wide_trees: bool) -> None:
        self._other = other
        self.optimizes_wide_trees = optimizes_wide_trees

    @functools.cached_property
    def has_sharing_providers(self) -> bool:
        """Whether a provider shares its inventory; so if the other service doesn't answer."""
        try:
            answer = self._other.ask(Request(f"/resource_providers?required={SHARING}", "1.18"))
            return bool(json.loads(answer.body)["resource_providers"])
        except (Unanswered, ValueError, LookupError, TypeError, RecursionError):
            return True


def _newest(service: ComparedService, option: str) -> int:
    """Return the newest microversion of the service, 1.x. Raises Unfit if it is no placement."""
    try:
        answer = service.ask(Request("/"))
    except Unanswered as error:
        raise Unfit(f"{service.name} can't be reached: {error}.") from None
    if 300 <= answer.status < 400:
        place = report.short(answer.headers.get("location", "an unknown address"))
        raise Unfit(
            f"{service.name} ({option}) redirects to {place} ({answer.status}): name the address "
            "of the service itself."
        )
    try:
        versions = json.loads(answer.body)["versions"]
        major, minor = (int(part) for part in versions[0]["max_version"].split("."))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        major, minor = 0, 0
    if answer.status != 200 or major != 1:
        raise Unfit(
            f"{service.name} ({option}) is no placement service: the answer to GET / is "
            f"{answer.status}, without its versions."
        )
    return minor


def _check_token(service: ComparedService, newest: int) -> None:
    answer = service.ask(Request("/resource_classes", f"1.{newest}"))
    if answer.status == 403:
        raise Unfit(
            f"{service.name} forbids to read (403): the token's user needs the role `admin` or "
            "`service`."
        )
    if answer.status != 200:
        raise Unfit(
            f"{service.name} doesn't answer: the status of GET /resource_classes is "
            f"{answer.status}."
        )


def _requests(
    arguments: Any, other: ComparedService, newest: int
) -> tuple[list[Request], Mapping[str, int]]:
    """Return the requests to send, and how many are left out, by reason."""
    version = arguments.microversion or f"1.{newest}"
    if version != NO_VERSION and not VERSION.fullmatch(version):
        arguments.usage_error(f"--microversion: {version!r} is no microversion")
    if arguments.requests is not None:
        return _of_file(arguments, version), {}
    if arguments.from_access_log:
        return _of_logs(arguments, version)
    _say(f"Reading the cloud of {other.name}")
    return sample.make(other.ask, newest, arguments.sample, arguments.seed), {}


def _of_file(arguments: Any, version: str) -> list[Request]:
    try:
        with _opened(arguments.requests) as file:
            lines = io.TextIOWrapper(file, "utf-8")
            return read_requests(lines, version, f"{arguments.requests}, line")
    except (OSError, UnicodeDecodeError) as error:
        _unreadable(arguments, "--requests", arguments.requests, error)
    except UnusableFile as error:
        arguments.usage_error(f"--requests: {error}")
        raise AssertionError("usage_error exits") from error


def _of_logs(arguments: Any, version: str) -> tuple[list[Request], Mapping[str, int]]:
    files: Sequence[str] = arguments.from_access_log
    lines = access_log.lines_of([functools.partial(_opened, name) for name in files])
    wanted = None if version == NO_VERSION else version
    try:
        chosen = access_log.choose(lines, arguments.limit, arguments.seed, wanted, arguments.prefix)
    except (OSError, EOFError, zlib.error) as error:
        _unreadable(arguments, "--from-access-log", ", ".join(files), error)
    return chosen.requests, chosen.skipped


def _unreadable(arguments: Any, option: str, name: str, error: Exception) -> NoReturn:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    arguments.usage_error(f"{option}: {name} can't be read: {why}")
    raise AssertionError("usage_error exits")


def _opened(name: str) -> io.BufferedReader:
    if name == STANDARD_INPUT:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    return open(name, "rb")


def _nothing(skipped: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return f"There is no request to send{f' ({reasons})' if reasons else ''}."


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _progress(total: int, done: int) -> None:
    """Show on a terminal how far the first pass is."""
    if sys.stderr.isatty() and (done % 10 == 0 or done == total):
        print(f"\r{done} of {total} requests", end="", file=sys.stderr, flush=True)


def _end_of_progress() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
