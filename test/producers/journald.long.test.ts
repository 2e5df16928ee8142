import { spawn } from "node:child_process";
import { join } from "node:path";
import test from "ava";

import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, LOG, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { entryOf, journalTools, writeJournal } from "./journal-tools.ts";

const COUNT = 1_000;

for (const kind of KINDS) {
  test(`${kind}: systemd-journal-upload posts, and continues where it stopped`, async (t) => {
    const tools = await journalTools();
    const service = await serviceOf(t, kind);
    const folder = temporaryFolder(t);
    const journal = join(folder, "a.journal");
    const upload = async (state: string): Promise<{ code: number | null; err: string }> => {
      const url = `${service.postUrl.replace("://", `://any:${KEY}@`)}/1/logs/${LOG}`;
      const words = [`--url=${url}`, "--follow=no", `--file=${journal}`, `--save-state=${join(folder, state)}`];
      const child = spawn(tools.upload, words, { env: tools.env });
      let err = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      return { code, err };
    };
    const entries = (from: number, count: number): Buffer =>
      Buffer.concat(
        Array.from({ length: count }, (_, i) =>
          entryOf(from + i, {
            MESSAGE: `entry ${from + i}\né`,
            PRIORITY: "4",
            SYSLOG_IDENTIFIER: "app",
            N: `${from + i}`,
          }),
        ),
      );
    await writeJournal(tools, journal, entries(0, COUNT));
    const first = await upload("state");
    t.is(first.code, 0, first.err);
    await writeJournal(tools, journal, entries(COUNT, 10));
    t.is((await upload("state")).code, 0);
    // Its state was lost, so it sends everything again.
    t.is((await upload("other")).code, 0);
    const events = await eventsOf(service, COUNT + 10);
    t.is(events.length, COUNT + 10);
    const byText = new Map(events.map((event) => [event.text, event]));
    for (let n = 0; n < COUNT + 10; n += 1) {
      t.like(byText.get(`entry ${n}\né`), { source: "app", tags: ["warn"], attributes: { N: `${n}`, PRIORITY: "4" } });
    }
  });
}
