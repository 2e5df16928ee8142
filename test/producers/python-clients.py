"""Posts a number of events by each client that is named, with its defaults but for address, key and time limits."""

import logging
import os
import re
import socket
import sys
import time
import urllib.request

COUNT = int(os.environ["COUNT"])
POST = os.environ["POST"]
KEY = os.environ["KEY"]
PORT_OF_POST = int(POST.rsplit(":", 1)[1])
GELF_TCP, GELF_UDP, FORWARD, SYSLOG, GRPC = (int(port) for port in os.environ["PORTS"].split(","))
HOST = "127.0.0.1"


def logger_of(name, handler):
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(1)
    logger.addHandler(handler)
    return logger


def post_by(name, handler, extra):
    logger = logger_of(name, handler)
    for n in range(COUNT):
        logger.error("%s %d é", name, n, extra=extra(n))
    handler.close()


def fields(n):
    return {"n": n, "half": n + 0.5, "ok": True, "user_name": "ann"}


def paced(extra, listener):
    """Waits now and then until the datagrams sent are stored: a socket's buffer does not hold all of them."""

    def wait(n):
        deadline = time.monotonic() + 90
        while n % 50 == 0 and stored_by(listener) < n:
            if time.monotonic() > deadline:
                raise RuntimeError(f"of {n} datagrams {stored_by(listener)} are stored")
            time.sleep(0.02)
        return extra(n)

    return wait


def stored_by(listener):
    with urllib.request.urlopen(f"{POST}/metrics") as response:
        metrics = response.read().decode()
    return int(re.search(rf'^loggia_listener_events_total{{listener="{listener}"}} (\d+)$', metrics, re.MULTILINE)[1])


def otel(name, exporter):
    from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    provider = LoggerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    with TracerProvider().get_tracer("t").start_as_current_span("span"):
        post_by(name, LoggingHandler(level=1, logger_provider=provider), fields)
    provider.shutdown()


def otlp_http(name):
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    headers = {"authorization": f"Bearer {KEY}"}
    otel(name, OTLPLogExporter(endpoint=f"{POST}/v1/logs", headers=headers, compression=Compression.Gzip))


def otlp_grpc(name):
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

    headers = (("authorization", f"Bearer {KEY}"),)
    otel(name, OTLPLogExporter(endpoint=f"{HOST}:{GRPC}", insecure=True, headers=headers))


def bulk(name):
    from elasticsearch import Elasticsearch, helpers

    with Elasticsearch(POST, api_key=KEY, request_timeout=60) as client:
        documents = [
            {
                "_op_type": "create",
                "_index": "app",
                "_id": f"python-{n}",
                "@timestamp": "2026-11-20T05:00:00.123456Z",
                "message": f"{name} {n} é",
                "log": {"level": "error"},
                "service": {"name": "shop"},
                **fields(n),
            }
            for n in range(COUNT)
        ]
        created, _ = helpers.bulk(client, documents, chunk_size=250)
        again = sum(ok for ok, _ in helpers.parallel_bulk(client, documents, chunk_size=100, raise_on_error=False))
        if (created, again) != (COUNT, 0):
            raise RuntimeError(f"{created} were created, and {again} of them again")


def loki(name):
    import logging_loki

    handler = logging_loki.LokiHandler(
        url=f"{POST}/loki/api/v1/push", tags={"app": "shop"}, auth=("any", KEY), version="1"
    )
    post_by(name, handler, lambda n: {"tags": {"n": str(n)}})


def graypy_tcp(name):
    import graypy

    post_by(name, graypy.GELFTCPHandler(HOST, GELF_TCP, facility="shop"), fields)


def pygelf_tcp(name):
    import pygelf

    post_by(name, pygelf.GelfTcpHandler(HOST, GELF_TCP, include_extra_fields=True, _service="shop"), fields)


def pygelf_udp(name):
    import pygelf

    handler = pygelf.GelfUdpHandler(HOST, GELF_UDP, include_extra_fields=True, _service="shop")
    post_by(name, handler, paced(fields, "gelf_udp"))


def fluent(name):
    from fluent import sender

    with sender.FluentSender("shop", host=HOST, port=FORWARD, nanosecond_precision=True, timeout=60) as client:
        for n in range(COUNT):
            if not client.emit("app", {"message": f"{name} {n} é", "level": "error", **fields(n)}):
                raise client.last_error


def splunk(name):
    from splunk_handler import SplunkHandler

    handler = SplunkHandler(
        host=HOST, port=PORT_OF_POST, token=KEY, index="main", protocol="http", source="shop", verify=False
    )
    logger = logger_of(name, handler)
    for n in range(COUNT):
        logger.error("%s %d é", name, n)
    handler.force_flush()


def rfc5424(name):
    from rfc5424logging import Rfc5424SysLogHandler

    handler = Rfc5424SysLogHandler(address=(HOST, SYSLOG), socktype=socket.SOCK_STREAM, appname="shop")
    post_by(name, handler, lambda n: {"msgid": f"ID{n}", "structured_data": {"order@32473": {"n": str(n)}}})


def syslog(name):
    from logging.handlers import SysLogHandler

    handler = SysLogHandler(address=(HOST, SYSLOG), socktype=socket.SOCK_STREAM)
    handler.ident = "shop[7]: "
    logger = logger_of(name, handler)
    for n in range(COUNT):
        try:
            raise ValueError("not a page:\n<html>\n</html>")
        except ValueError:
            logger.exception("%s %d é", name, n)
    handler.close()


for client in sys.argv[1:]:
    globals()[client](client)
