/** How a program sends an event: what a person copies, by language and shipper. */
export type Sender = { readonly name: string; readonly code: (to: Target) => string };

export type Target = {
  /** Where events are posted, such as `http://127.0.0.1:8081`. */
  readonly post: string;
  readonly log: string;
  readonly key: string;
};

const eventsOf = ({ post, log }: Target) => `${post}/1/logs/${log}/events`;

export const SENDERS: readonly Sender[] = [
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
    code: (to) => `loggia ship --post ${to.post.replace(/^https?:\/\//, "")} --log ${to.log} app.log
# asks for the key, or takes it from LOGGIA_KEY`,
  },
  {
    name: "Lines of JSON",
    code: (to) => `curl '${eventsOf(to)}?apikey=${to.key}' \\
  -H 'Content-Type: application/x-ndjson' \\
  --data-binary '{"text":"Hello from ${to.log}","tags":"hello first","attributes":{"http":{"status":200}}}'`,
  },
];
