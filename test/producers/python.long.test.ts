import test from "ava";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { installPython } from "../../infra/python.ts";
import { listeningService, portOf } from "../ingest/listeners/sockets.ts";
import type { Listed } from "../ingest/posting.ts";
import { isHere } from "../support/programs.ts";
import { AUTHORIZATION, KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const COUNT = 1_000;
const PROGRAM = fileURLToPath(new URL("./python-clients.py", import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL("./python-requirements.txt", import.meta.url));

type Expected = { readonly source: string; readonly attributes: (n: number) => Readonly<Record<string, unknown>> };

const fields = (n: number) => ({ n, half: n + 0.5, ok: true, user_name: "ann" });
const SHOP = { source: "shop", attributes: fields };
const traced = (n: number) => ({ ...fields(n), severity_text: "ERROR", "service.name": "shop", trace_flags: 3 });

/** The clients, each a function of the program, and the events expected of it. */
const CLIENTS: Readonly<Record<string, Expected>> = {
  otlp_http: { source: "shop", attributes: traced },
  otlp_grpc: { source: "shop", attributes: traced },
  bulk: { source: "shop", attributes: (n) => ({ ...fields(n), _index: "app", time_ns: "1795150800123456000" }) },
  loki: { source: "shop", attributes: (n) => ({ app: "shop", n: String(n), severity: "error", logger: "loki" }) },
  graypy_tcp: { source: "", attributes: (n) => ({ ...fields(n), facility: "shop", level: 3 }) },
  pygelf_tcp: SHOP,
  pygelf_udp: SHOP,
  fluent: { source: "shop.app", attributes: fields },
  splunk: { source: "shop", attributes: () => ({ index: "main" }) },
  rfc5424: { source: "shop", attributes: (n) => ({ msg_id: `ID${n}`, "order@32473.n": String(n), severity: "err" }) },
  syslog: { source: "shop", attributes: () => ({ app_name: "shop", proc_id: 7, severity: "err" }) },
};

(isHere("python3") ? test : test.skip)("Python clients post each event once, with its fields", async (t) => {
  t.timeout(600_000);
  const packages = await installPython(REQUIREMENTS);
  const at = (transport: string) => `${transport}://127.0.0.1:0/${LOG}`;
  const service = await listeningService(t, {
    LOGGIA_GELF: `${at("tcp")}, ${at("udp")}`,
    LOGGIA_FORWARD: at("tcp"),
    LOGGIA_SYSLOG: at("tcp"),
    LOGGIA_OTLP_GRPC: "127.0.0.1:0",
  });
  const portsOf = (name: string, transport: "tcp" | "udp" = "tcp") =>
    portOf({ listeners: service.listeners.filter(({ protocol }) => protocol === name) }, transport);
  const ports = [portsOf("gelf"), portsOf("gelf", "udp"), portsOf("forward"), portsOf("syslog"), portsOf("otlp")];
  const env = {
    ...process.env,
    PYTHONPATH: packages,
    COUNT: String(COUNT),
    POST: service.postUrl,
    KEY,
    PORTS: ports.join(","),
    OTEL_EXPORTER_OTLP_TIMEOUT: "60",
  };
  const { stderr } = await run("python3", [PROGRAM, ...Object.keys(CLIENTS)], { env });
  t.notRegex(stderr, /Error/);
  const wanted = COUNT * Object.keys(CLIENTS).length;
  const events = await exportedBy(service, wanted);
  t.is(events.length, wanted);
  for (const [name, { source, attributes }] of Object.entries(CLIENTS)) {
    const own = new Map(
      events.flatMap((event): [number, Listed][] => {
        const [, client, n] = /^(\w+) (\d+) é/.exec(event.text) ?? [];
        return client === name ? [[Number(n), event]] : [];
      }),
    );
    t.is(own.size, COUNT, name);
    for (let n = 0; n < COUNT; n++) {
      const event = own.get(n)!;
      if (source !== "") t.is(event.source, source, name);
      if (name !== "splunk")
        t.deepEqual(
          event.tags.filter((tag) => tag !== "cut"),
          ["error"],
          name,
        );
      t.like(event.attributes, attributes(n), name);
    }
  }
  t.true(events.filter(({ text }) => text.startsWith("syslog ")).every(({ text }) => text.endsWith("</html>")));
});

/** Returns all events, more than lists return. */
async function exportedBy(service: Service, count: number): Promise<readonly Listed[]> {
  const url = `${service.apiUrl}/1/logs/${LOG}/export?attributes=true`;
  const find = async () => {
    const response = await fetch(url, { headers: { Authorization: AUTHORIZATION } });
    const lines = (await response.text()).split("\n").filter((line) => line !== "");
    return lines.length < count ? null : lines.map((line) => JSON.parse(line) as Listed);
  };
  return await until(find, { what: `${count} events` });
}
