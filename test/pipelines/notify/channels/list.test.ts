import { readdirSync, readFileSync } from "node:fs";
import test from "ava";

import { CHANNELS } from "../../../../pipelines/notify/channels/list.ts";

const FOLDER = new URL("../../../../pipelines/notify/channels/", import.meta.url);
const PAGE = readFileSync(new URL("../../../../docs/notifications.md", import.meta.url), "utf8");
const OTHERS = new Set(["channel.ts", "list.ts", "open-channel.ts"]);

test("every file of a channel is in the list, under its own name", (t) => {
  const files = readdirSync(FOLDER).filter((name) => !OTHERS.has(name));
  t.deepEqual(CHANNELS.map(({ kind }) => `${kind}.ts`).toSorted(), files.toSorted());
});

test("the page on notifications describes each setting of a channel", (t) => {
  for (const { name } of CHANNELS.flatMap(({ settings }) => settings)) t.true(PAGE.includes(`${name}=`), name);
});
