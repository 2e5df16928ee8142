import { existsSync, readdirSync, readFileSync } from "node:fs";
import test from "ava";

import { PROTOCOLS } from "../../../src/ingest/protocols/list.ts";
import { ALL_SETTINGS } from "../../../src/settings.ts";
import { SEEDS } from "../seeds.ts";

const FOLDERS = new URL("../../../src/ingest/protocols/", import.meta.url);
const PAGES = new URL("../../../docs/producers/", import.meta.url);
const INDEX = readFileSync(new URL("README.md", PAGES), "utf8");

test("every folder of a protocol is in the list, under its own name", (t) => {
  const folders = readdirSync(FOLDERS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const listed = PROTOCOLS.map(({ name }) => name);
  t.deepEqual(listed.toSorted(), folders.map(({ name }) => name).toSorted());
});

test("no two protocols have a setting or a listener's name in metrics in common", (t) => {
  const names = ALL_SETTINGS.map(({ name }) => name);
  t.deepEqual(names, [...new Set(names)]);
  const metrics = PROTOCOLS.flatMap(({ sockets }) => Object.values(sockets?.metrics ?? {}));
  t.deepEqual(metrics, [...new Set(metrics)]);
});

test("each transport of a protocol has a name in metrics, and no other has", (t) => {
  for (const { name, sockets } of PROTOCOLS) {
    if (sockets === undefined) continue;
    t.deepEqual(Object.keys(sockets.metrics).toSorted(), sockets.syntax.transports.toSorted(), name);
  }
});

test("each protocol has a page, which the index links, with its setting", (t) => {
  for (const { name, page, sockets, settings = [] } of PROTOCOLS) {
    t.true(existsSync(new URL(page, PAGES)), `docs/producers/${page}`);
    const rows = INDEX.split("\n").filter((line) => line.startsWith("| ") && line.includes(`](${page}`));
    t.true(rows.length > 0, `docs/producers/README.md has no row for ${name}`);
    if (sockets !== undefined) t.true(rows.some((row) => row.includes(`\`${sockets.setting.name}\``)));
    const text = readFileSync(new URL(page, PAGES), "utf8");
    for (const setting of settings) t.true(text.includes(setting.name), `${page} describes ${setting.name}`);
  }
});

test("the standard of each setting is a value that it allows", (t) => {
  for (const { name, standard, pattern } of PROTOCOLS.flatMap(({ settings = [] }) => settings)) {
    t.regex(standard, pattern, name);
  }
});

test("each protocol with paths has a request from which fuzzing starts", (t) => {
  for (const protocol of PROTOCOLS) {
    if (!("match" in protocol)) continue;
    const seed = SEEDS.find(({ method = "POST", path }) => protocol.match?.(method, path.split("?", 1)[0]!) !== null);
    t.truthy(seed, protocol.name);
  }
});
