import test from "ava";

import { foldData, isHtml } from "../../../../src/web/parts/event/data.ts";
import {
  actionsOfValue,
  attributesOfEvent,
  detailsOfEvent,
  safeLink,
  actionLabel,
} from "../../../../src/web/parts/event/details.ts";
import { rowOf } from "../../support/rows.ts";

const words = { moment: (ms: number) => new Date(ms).toISOString(), className: (key: string) => key.toUpperCase() };

test("an event shows the fields that it has, and its attributes by name", (t) => {
  const row = rowOf(1, { class: "error", tags: ["a", "b"], value: 0, attributes: { b: [1, 2], a: "" } });
  t.deepEqual(
    detailsOfEvent(row, words).map(({ field, values }) => [field, ...values.map(({ shown }) => shown)]),
    [
      ["created", "1970-01-12T13:46:41.000Z"],
      ["class", "ERROR"],
      ["source", "test"],
      ["tags", "a", "b"],
      ["value", "0"],
      ["id", row.id],
    ],
  );
  t.deepEqual(attributesOfEvent(row), [
    { field: "@a", values: [{ shown: "“”", value: "" }] },
    {
      field: "@b",
      values: [
        { shown: "1", value: "1" },
        { shown: "2", value: "2" },
      ],
    },
  ]);
});

test("each value offers the conditions that can be queried", (t) => {
  const value = { shown: "8011", value: 8_011 };
  t.deepEqual(actionsOfValue("@took", value, null), ["only", "not", "above", "below", "group", "column", "copy"]);
  // A place cannot be used in a condition, but events can be grouped by it.
  t.deepEqual(actionsOfValue("geo", { shown: "52.52, 13.405", value: null }, null), ["group", "column", "copy"]);
  t.deepEqual(actionsOfValue("created", { shown: "now", value: null }, null), ["copy"]);
  const long = "x".repeat(7_500);
  t.deepEqual(actionsOfValue("@trace", { shown: long, value: long }, null), ["group", "column", "copy"]);
  t.deepEqual(actionsOfValue("link", { shown: "x", value: "x" }, "https://x.example/").at(-1), "follow");
  t.deepEqual(actionLabel("only", "user", "u-1", false), { before: "Only ", name: "u-1" });
  t.deepEqual(actionLabel("column", "user", "u-1", true), { before: "Hide the column" });
});

test("only links to pages and mail addresses can be followed", (t) => {
  t.is(safeLink("https://status.example/a"), "https://status.example/a");
  t.is(safeLink("mailto:a@b.example"), "mailto:a@b.example");
  for (const link of ["javascript:alert(1)", " jAvAsCrIpT:alert(1)", "data:text/html,x", "file:///etc", "x"]) {
    t.is(safeLink(link), null, link);
  }
});

test("long data is folded, and short data shown completely", (t) => {
  const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`).join("\n");
  t.deepEqual(foldData(lines(28)), { shown: lines(16), moreLines: 12 });
  t.is(foldData(lines(18)).moreLines, 0);
  t.is(foldData(`${lines(19)}\n`).moreLines, 0);
  t.like(foldData("😀".repeat(5_000)), { moreLines: 1 });
  t.true(foldData(`x${"😀".repeat(5_000)}`).shown.isWellFormed());
});

test("data that is a page is recognized by its first line", (t) => {
  t.true(isHtml("@html\n<b>x</b>"));
  t.true(isHtml("@HTML \r\n<b>x</b>"));
  t.false(isHtml("@html <b>x</b>"));
  t.false(isHtml("see\n@html\n"));
});
