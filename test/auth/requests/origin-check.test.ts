import test from "ava";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { BlockList } from "node:net";
import { hostname } from "node:os";

import { createOriginCheck } from "../../../src/auth/requests/origin-check.ts";

const trustedProxies = new BlockList();
trustedProxies.addAddress("10.0.0.1", "ipv4");
const guard = createOriginCheck({ hosts: ["logs.example.org"], trustedProxies });

/** Returns "passes", or the reason of the refusal. */
function judge(headers: IncomingHttpHeaders, remoteAddress = "127.0.0.1", url = "/1/logs"): "passes" | "site" | "host" {
  const request = { url, headers: { host: "localhost:8080", ...headers }, socket: { remoteAddress } };
  const refusal = guard.originRefusal(request as unknown as IncomingMessage);
  if (refusal === null) return "passes";
  return refusal.message.includes("LOGGIA_HOSTS") ? "host" : "site";
}

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const POWERSHELL = "Mozilla/5.0 (Windows NT 10.0; en-US) PowerShell/7.4.0";

test("Sec-Fetch-Site decides if present, whatever its value", (t) => {
  for (const site of ["same-origin", "none"]) t.is(judge({ "sec-fetch-site": site }), "passes", site);
  for (const site of ["cross-site", "same-site", "", "Same-Origin", "same-origin, cross-site", "null"])
    t.is(judge({ "sec-fetch-site": site }), "site", site);
  t.is(judge({ "sec-fetch-site": "same-origin", origin: "https://logs.example.org" }), "passes", "TLS ends in front");
  t.is(judge({ "sec-fetch-site": "same-site", origin: "http://localhost:8080" }), "site");
});

test("Origin decides if Sec-Fetch-Site is absent", (t) => {
  for (const [host, origin] of [
    ["localhost:8080", "http://localhost:8080"],
    ["LocalHost:8080", "http://localhost:8080"],
    ["localhost", "http://localhost"],
    ["localhost:80", "http://localhost"],
    ["logs.example.org", "https://logs.example.org"],
    ["logs.example.org:443", "https://logs.example.org"],
    ["[::1]:8080", "http://[::1]:8080"],
    ["[0:0:0:0:0:0:0:1]:8080", "http://[::1]:8080"],
    ["127.0.0.1:8080", "http://127.0.0.1:8080"],
  ] as const)
    t.is(judge({ host, origin }), "passes", `${host} ${origin}`);
  for (const [host, origin] of [
    ["localhost:8080", "http://localhost:3000"],
    ["localhost:8080", "http://localhost"],
    ["localhost", "http://localhost:8080"],
    ["localhost:8080", "null"],
    ["localhost:8080", ""],
    ["localhost:8080", "http://localhost:8080, http://localhost:8080"],
    ["localhost:8080", "http://localhost:8080/"],
    ["localhost:8080", "http://evil@localhost:8080"],
    ["localhost:8080", "http://localhost:8080.evil.example"],
    ["localhost:8080", "chrome-extension://localhost:8080"],
    ["localhost:8080", "http://127.0.0.1:8080"],
    ["logs.example.org", "https://evil.example.org"],
    ["logs.example.org:443", "http://logs.example.org"],
    ["[::1]:8080", "http://[::2]:8080"],
  ] as const)
    t.is(judge({ host, origin }), "site", `${host} ${origin}`);
});

test("JSONP from a browser without Sec-Fetch-Site and Origin needs a Referer of this service", (t) => {
  const of = (headers: IncomingHttpHeaders, query: string) => judge(headers, "127.0.0.1", `/1/logs?${query}`);
  const browser = { host: "192.0.2.7:8080", "user-agent": FIREFOX };
  for (const query of ["fmt=jsonp&callback=steal", "callback=steal&FMT=xml&fmt=JSONP", "fm%74=json%70&fmt=json"]) {
    t.is(of(browser, query), "site", query);
    t.is(of({ ...browser, referer: "http://evil.example/" }, query), "site", query);
    t.is(of({ ...browser, referer: "http://192.0.2.7:8080@evil.example/" }, query), "site", query);
    t.is(of({ ...browser, referer: "http://192.0.2.7:8080/page" }, query), "passes", query);
    t.is(of({ host: "192.0.2.7:8080", "user-agent": "curl/8.14.1" }, query), "passes", query);
  }
  for (const query of ["fmt=json", "callback=jsonp", "fmt=json&fmt=jsonp"]) t.is(of(browser, query), "passes", query);
});

test("a browser's Host must be a known name or an address", (t) => {
  const known = ["localhost:8080", "LOCALHOST", "localhost.", "app.localhost:8080", "192.0.2.7:8080", "[2001:db8::1]"];
  for (const host of [...known, `${hostname()}:8080`, "logs.example.org", "LOGS.example.org.:8080"])
    for (const headers of [{ "sec-fetch-site": "same-origin" }, { "user-agent": FIREFOX }])
      t.is(judge({ host, ...headers }), "passes", host);
  const unknown = ["evil.example:8080", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example:8080"];
  for (const host of [...unknown, "", "x@localhost", "localhost/x", "a.logs.example.org", "%6cocalhost", "[::1].x"])
    for (const headers of [
      { "sec-fetch-site": "same-origin" },
      { "user-agent": FIREFOX },
      { origin: `http://${host}` },
    ])
      t.is(judge({ host, ...headers }), "host", host);
});

test("clients other than browsers pass with any Host", (t) => {
  for (const host of ["evil.example:8080", "anything", ""])
    for (const headers of [{}, { "user-agent": "curl/8.14.1" }, { "user-agent": POWERSHELL }])
      t.is(judge({ host, ...headers }), "passes");
});

test("X-Forwarded-Host counts only from a trusted proxy, and only its last entry", (t) => {
  const behind = { host: "127.0.0.1:8080", origin: "https://logs.example.org" };
  const forwarded = "x-forwarded-host";
  t.is(judge({ ...behind, [forwarded]: "logs.example.org" }, "10.0.0.1"), "passes");
  t.is(judge({ ...behind, [forwarded]: "logs.example.org" }, "::ffff:10.0.0.1"), "passes");
  t.is(judge({ ...behind, [forwarded]: "made.up, logs.example.org" }, "10.0.0.1"), "passes");
  t.is(judge({ ...behind, [forwarded]: "logs.example.org, evil.example" }, "10.0.0.1"), "host");
  t.is(judge({ ...behind, [forwarded]: "logs.example.org" }, "10.0.0.2"), "site");
  t.is(judge({ ...behind, host: "evil.example", [forwarded]: "logs.example.org" }, "10.0.0.1"), "host");
  t.is(judge({ ...behind, origin: "https://evil.example", [forwarded]: "logs.example.org" }, "10.0.0.1"), "site");
});
