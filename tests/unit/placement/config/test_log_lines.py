"""Lines of the log are those of oslo.log's formatter, to the letter."""

import io
import logging
import time
import types

import pytest
from oslo_config import cfg
from oslo_log import formatters, handlers
from oslo_log import log as oslo_log

from placement.config import logs
from placement.config.log_lines import LineFormatter, write_faster
from placement.http.identity.authentication import RequestContext

CALLERS = [
    {},
    {"HTTP_X_USER_ID": "admin", "HTTP_X_PROJECT_ID": "admin"},
    {"HTTP_X_USER_ID": "u\n1", "HTTP_X_PROJECT_ID": "p\x1b[0m", "HTTP_X_USER_DOMAIN_ID": "ü d"},
    {"HTTP_X_USER_ID": "u", "HTTP_OPENSTACK_SYSTEM_SCOPE": "all", "HTTP_X_DOMAIN_ID": "%(d)s"},
    {"HTTP_X_PROJECT_DOMAIN_ID": "pd", "openstack.global_request_id": "req-1"},
]


@pytest.fixture
def conf():
    found = cfg.ConfigOpts()
    oslo_log.register_options(found)
    found([])
    return found


@pytest.fixture
def formats(conf):
    """Return our formatter and oslo.log's, both with the default options."""
    options = {"datefmt": conf.log_date_format, "project": "p", "version": "v", "config": conf}
    return LineFormatter(**options), formatters.ContextFormatter(**options)


def record(level=logging.INFO, **facts):
    made = logging.LogRecord("a.logger", level, __file__, 7, "%s did %d%%", ("ü", 5), None)
    made.__dict__.update(facts)
    return made


def same(formats, *records):
    """Return the line of the first of two equal records, if both formatters write the same."""
    ours, theirs = (one.format(each) for one, each in zip(formats, records, strict=True))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR])
def test_a_request_s_lines(formats, caller, level):
    context = RequestContext(global_request_id=None).identified(caller)
    moment = time.time()
    records = [
        record(level, context=context, created=moment, msecs=moment % 1 * 1000) for _ in "ab"
    ]
    assert context.request_id in same(formats, *records)


def test_lines_of_one_second_and_of_the_next(formats):
    context = RequestContext()
    for moment in (1700000000.0, 1700000000.001, 1700000000.9999, 1700000001.0):
        records = [record(context=context, created=moment, msecs=moment % 1 * 1000) for _ in "ab"]
        same(formats, *records)


@pytest.mark.parametrize("facts", [{"instance": "i "}, {"instance_uuid": "u"}, {"context": None}])
def test_lines_that_name_something_else(formats, facts):
    moment = time.time()
    given = {"context": RequestContext(), "created": moment, "msecs": 1.0} | facts
    same(formats, record(**given), record(**given))


def test_lines_with_a_traceback(formats):
    try:
        raise ValueError("odd")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    given = {"context": RequestContext(), "created": 1.0, "msecs": 1.0, "exc_info": info}
    assert "ValueError: odd" in same(formats, record(**given), record(**given))


def test_a_handler_with_the_default_formats_writes_faster(conf):
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatters.ContextFormatter(datefmt=conf.log_date_format, config=conf))
    write_faster(handler, conf)
    assert type(handler.formatter) is LineFormatter


@pytest.mark.parametrize("name", ["logging_context_format_string", "logging_user_identity_format"])
def test_a_handler_with_the_operator_s_format_stays_as_it_is(conf, name):
    conf.set_override(name, "%(message)s")
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatters.ContextFormatter(datefmt=conf.log_date_format, config=conf))
    write_faster(handler, conf)
    assert type(handler.formatter) is formatters.ContextFormatter


def test_the_journal_keeps_the_fields_of_a_request(conf, monkeypatch):
    sent = []
    journal = types.SimpleNamespace(send=lambda message, **fields: sent.append(fields))
    monkeypatch.setattr(handlers, "journal", journal)
    handler = handlers.OSJournalHandler()
    handler.setFormatter(formatters.ContextFormatter(datefmt=conf.log_date_format, config=conf))
    write_faster(handler, conf)
    context = RequestContext().identified({"HTTP_X_PROJECT_ID": "p"})
    handler.handle(record(context=context))
    (fields,) = sent
    assert (fields["REQUEST_ID"], fields["PROJECT_ID"]) == (context.request_id, "p")


def test_other_formatters_stay_as_they_are(conf):
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatters.JSONFormatter())
    write_faster(handler, conf)
    assert type(handler.formatter) is formatters.JSONFormatter


def only_handler(conf, monkeypatch):
    """Let the root logger have one handler, as the program sets it up, and none of pytest's."""
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(formatters.ContextFormatter(datefmt=conf.log_date_format, config=conf))
    write_faster(handler, conf)
    monkeypatch.setattr(logging.root, "handlers", [handler])
    logs.escape_messages()
    return handler


def test_a_line_without_a_record_is_the_logger_s(conf, monkeypatch):
    handler = only_handler(conf, monkeypatch)
    monkeypatch.setattr(time, "time", lambda: 1700000000.25)
    monkeypatch.setattr(time, "time_ns", lambda: 1700000000_250000000)
    logger = logging.getLogger("a.logger")
    logger.setLevel(logging.INFO)
    context = RequestContext().identified(CALLERS[1])
    logger.info("%s did %s", "ü", "5\n6")
    assert logs.write_line(logger, "ü did 5\n6", context.brackets)
    first, second = handler.stream.getvalue().splitlines()
    assert first == second
    assert "ü did 5\\n6" in first


def test_a_record_that_somebody_else_sees_is_made(conf, monkeypatch):
    handler = only_handler(conf, monkeypatch)
    logger, quiet = logging.getLogger("another.logger"), logging.NullHandler()
    for who, name, value in (
        (logger, "handlers", [quiet]),
        (logger, "filters", [lambda record: True]),
        (logger, "propagate", False),
        (logging.root, "handlers", [handler, quiet]),
        (logging.root, "handlers", [quiet]),
        (handler, "filters", []),
        (handler, "level", logging.WARNING),
        (handler, "formatter", logging.Formatter()),
        (handler, "stream", None),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(who, name, value)
            assert not logs.write_line(logger, "a", "[-]"), name
    assert not handler.stream.getvalue()
    assert logs.write_line(logger, "a", "[-]")
