/** A way to send events: code to copy, and where it belongs. */
export type SenderGuide = {
  readonly name: string;
  readonly code: (to: SenderTarget) => string;
  /** Requirements, or where the code belongs. */
  readonly note?: string;
};

export type SenderTarget = {
  /** Where events are posted, such as `http://127.0.0.1:8081`. */
  readonly post: string;
  readonly log: string;
  readonly key: string;
};

const eventsOf = ({ post, log }: SenderTarget) => `${post}/1/logs/${log}/events`;

/** Commands and programs that need only what a machine already has. */
export const PROGRAMS: readonly SenderGuide[] = [
  {
    name: "curl",
    code: (to) => `curl ${eventsOf(to)} \\
  -d apikey=${to.key} \\
  -d text='Hello from ${to.log}' \\
  -d tags='hello first' \\
  -d source=terminal`,
  },
  {
    name: "Node.js",
    code: (to) => `await fetch("${eventsOf(to)}", {
  method: "POST",
  body: new URLSearchParams({
    apikey: "${to.key}",
    text: "Hello from ${to.log}",
    tags: "hello first",
    source: "node",
  }),
});`,
  },
  {
    name: "Python",
    code: (to) => `from urllib.parse import urlencode
from urllib.request import urlopen

urlopen("${eventsOf(to)}", urlencode({
    "apikey": "${to.key}",
    "text": "Hello from ${to.log}",
    "tags": "hello first",
    "source": "python",
}).encode())`,
  },
  {
    name: "Go",
    code: (to) => `package main

import (
	"net/http"
	"net/url"
)

func main() {
	response, err := http.PostForm("${eventsOf(to)}", url.Values{
		"apikey": {"${to.key}"},
		"text":   {"Hello from ${to.log}"},
		"tags":   {"hello first"},
		"source": {"go"},
	})
	if err != nil {
		panic(err)
	}
	response.Body.Close()
}`,
  },
  {
    name: "Java",
    code: (to) => `import java.net.URI;
import java.net.http.*;

class Hello {
  public static void main(String[] arguments) throws Exception {
    var form = "apikey=${to.key}&text=Hello+from+${to.log}&tags=hello+first&source=java";
    var request = HttpRequest.newBuilder(URI.create("${eventsOf(to)}"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .POST(HttpRequest.BodyPublishers.ofString(form))
        .build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}`,
  },
  {
    name: "PHP",
    code: (to) => `<?php
file_get_contents("${eventsOf(to)}", false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => "Content-Type: application/x-www-form-urlencoded",
    "content" => http_build_query([
        "apikey" => "${to.key}",
        "text" => "Hello from ${to.log}",
        "tags" => "hello first",
        "source" => "php",
    ]),
]]));`,
  },
  {
    name: "A log file",
    code: (to) => `curl '${to.post}/lines?source=app' \\
  -H 'Authorization: Bearer ${to.key}' \\
  --data-binary @app.log`,
    note: "Each line of app.log is an event.",
  },
  {
    name: "Lines of JSON",
    code: (to) => `curl '${eventsOf(to)}?apikey=${to.key}' \\
  -H 'Content-Type: application/x-ndjson' \\
  --data-binary '{"text":"Hello from ${to.log}","tags":"hello first","attributes":{"http":{"status":200}}}'`,
  },
  {
    name: "loggia ship",
    code: (to) => `LOGGIA_KEY=${to.key} npx loggia ship \\
  --post ${to.post} --log ${to.log} --follow app.log`,
    note:
      "Follows a file as it grows and is rotated, with the times of its lines. " +
      "It needs Loggia and Node on that machine.",
  },
];

/** Widespread shippers that need only configuration. */
export const SHIPPERS: readonly SenderGuide[] = [
  {
    name: "OpenTelemetry",
    code: (to) => `OTEL_LOGS_EXPORTER=otlp
OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf
OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${to.post}/v1/logs
OTEL_EXPORTER_OTLP_LOGS_HEADERS=X-API-Key=${to.key}`,
    note: "The environment of a program with an SDK. The Collector takes the same address in its exporter otlp_http.",
  },
  {
    name: "Elasticsearch",
    code: (to) => `output.elasticsearch:
  hosts: ["${to.post}"]
  api_key: "any:${to.key}"`,
    note: "filebeat.yml. Logstash, Fluent Bit, Vector and the clients of Elasticsearch take the same address.",
  },
  {
    name: "Loki",
    code: (to) => `loki.write "loggia" {
  endpoint {
    url          = "${to.post}/loki/api/v1/push"
    bearer_token = "${to.key}"
  }
}`,
    note: "The configuration of Alloy. Promtail, Docker's driver for Loki and Fluent Bit take the same address.",
  },
  {
    name: "Splunk",
    code: (to) => `exporters:
  splunk_hec:
    endpoint: ${to.post}/services/collector
    token: ${to.key}`,
    note: "The OpenTelemetry Collector. Docker's driver for Splunk takes the address without its path.",
  },
  {
    name: "Datadog",
    code: (to) => `logs_enabled: true
logs_config:
  logs_dd_url: "${hostOf(to.post)}"
  logs_no_ssl: ${!to.post.startsWith("https:")}
  use_http: true
api_key: ${to.key}`,
    note: "datadog.yaml of the agent.",
  },
  {
    name: "GELF",
    code: (to) => `curl ${to.post}/gelf -H 'Authorization: Bearer ${to.key}' \\
    -d '{"version":"1.1","host":"box","short_message":"Order 17 failed","level":3,"_order":17}'`,
    note: "Libraries that can set nothing but an address take the key in it: /keys/KEY/gelf.",
  },
  {
    name: "Webhooks",
    code: (to) => `${to.post}/1/logs/${to.log}/hooks/json?apikey=${to.key}`,
    note:
      "The address for a service that posts JSON. In place of json: github, alertmanager, grafana or sentry. " +
      "Settings, Webhooks has those that sign what they post.",
  },
];

/** Returns `host:port` of an address, with the default port of its scheme. */
function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
}
