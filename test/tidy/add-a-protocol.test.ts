import { connect } from "node:net";
import test from "ava";

import { metricOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KEY, LOG } from "../support/service.ts";
import { codeOfGuide, ServiceCopy } from "./guides.ts";

test("a protocol that is added by the guide is served by HTTP and on its socket", async (t) => {
  const copy = new ServiceCopy(t);
  const files = codeOfGuide("Add a protocol");
  t.is(files.size, 3);
  for (const [path, code] of files) copy.create(path, code);
  const list = "src/ingest/protocols/list.ts";
  copy.change(list, /(PROTOCOLS: [^=]+= \[)/, "$1BARE, ");
  copy.change(list, /^/, 'import { BARE } from "./bare/protocol.ts";\n');
  await copy.checkTypes();
  const { ALL_SETTINGS } = await copy.import<{ ALL_SETTINGS: readonly { name: string }[] }>("src/settings.ts");
  t.true(ALL_SETTINGS.some(({ name }) => name === "LOGGIA_BARE"));
  const service = await copy.start(t, { LOGGIA_BARE: `tcp://127.0.0.1:0/${LOG}` });
  const posted = await fetch(`${service.postUrl}/bare?apikey=${KEY}`, { method: "POST", body: "by HTTP\n\n" });
  t.is(posted.status, 204);
  const { port } = service.listeners.find(({ protocol }) => protocol === "bare")!;
  connect(port, "127.0.0.1").end("by TCP\n");
  const events = await eventsOf(service, 2);
  t.deepEqual(events.map(({ text }) => text).toSorted(), ["by HTTP", "by TCP"]);
  t.is(await metricOf(service, "events_total", "bare"), 1);
});
