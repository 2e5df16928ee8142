import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import test from "ava";
import { pino } from "pino";

import type { startLoggia } from "../../src/main.ts";
import type { readSettings } from "../../src/settings.ts";
import { metricOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { environmentOf, KEY, LOG, postTimesFor } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** Returns the files that the guide shows, by their paths: each block belongs to the path above it. */
function filesOfGuide(): ReadonlyMap<string, string> {
  const text = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
  const guide = /## Add a protocol\n([^]*?)\n## /.exec(text)![1]!;
  const steps = guide.matchAll(/^\d\. `(src\/[^`]+)`[^]*?```ts\n([^]*?)```/gm);
  return new Map(Array.from(steps, ([, path, code]) => [path!, code!.replaceAll(/^ {3}/gm, "")]));
}

/** Follows the guide in a copy of the service. */
function copyWithProtocol(folder: string): void {
  for (const part of ["src", "pipelines", "package.json", "tsconfig.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [path, code] of filesOfGuide()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  const list = join(folder, "src/ingest/protocols/list.ts");
  const text = readFileSync(list, "utf8").replace(/(PROTOCOLS: [^=]+= \[)/, "$1BARE, ");
  writeFileSync(list, `import { BARE } from "./bare/protocol.ts";\n${text}`);
}

test("a protocol that is added by the guide is served by HTTP and on its socket", async (t) => {
  t.is(filesOfGuide().size, 3);
  const folder = temporaryFolder(t);
  copyWithProtocol(folder);
  const types = { extends: "./tsconfig.json", include: [], files: ["src/ingest/protocols/list.ts"] };
  writeFileSync(join(folder, "tsconfig.guide.json"), JSON.stringify(types));
  execFileSync(process.execPath, ["node_modules/typescript7/bin/tsc", "-p", "tsconfig.guide.json"], { cwd: folder });
  const { ALL_SETTINGS, readSettings: read } = (await import(join(folder, "src/settings.ts"))) as {
    readonly ALL_SETTINGS: readonly { readonly name: string }[];
    readonly readSettings: typeof readSettings;
  };
  t.true(ALL_SETTINGS.some(({ name }) => name === "LOGGIA_BARE"));
  const { startLoggia: start } = (await import(join(folder, "src/main.ts"))) as { startLoggia: typeof startLoggia };
  const environment = environmentOf("embedded", join(folder, "data"));
  const settings = read({ ...environment, LOGGIA_BARE: `tcp://127.0.0.1:0/${LOG}` });
  const service = await start(settings, pino({ level: "silent" }), postTimesFor(settings));
  t.teardown(() => service.close());
  const [apiUrl, postUrl] = [service.api!, service.post!].map(({ port }) => `http://127.0.0.1:${port}`) as [
    string,
    string,
  ];
  const posted = await fetch(`${postUrl}/bare?apikey=${KEY}`, { method: "POST", body: "by HTTP\n\n" });
  t.is(posted.status, 204);
  const { port } = service.listeners.find(({ protocol }) => protocol === "bare")!;
  connect(port, "127.0.0.1").end("by TCP\n");
  const events = await eventsOf({ ...service, apiUrl, postUrl }, 2);
  t.deepEqual(events.map(({ text }) => text).toSorted(), ["by HTTP", "by TCP"]);
  t.is(await metricOf({ apiUrl }, "events_total", "bare"), 1);
});
