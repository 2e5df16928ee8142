import test from "ava";

import {
  DEFAULT_COLUMNS,
  moveColumn,
  readColumns,
  resizeColumn,
  cellText,
  toggleColumn,
  gridTracks,
  writeColumns,
} from "../../../../src/web/parts/rows/columns.ts";
import { rowOf } from "../../support/rows.ts";

test("columns are parsed as they are written, with unusual names too", (t) => {
  const columns = [
    { name: "source", width: null },
    { name: "@odd, name: 5%", width: 160 },
    { name: "text", width: null },
  ];
  t.deepEqual(readColumns(writeColumns(columns)), columns);
  t.deepEqual(readColumns("source,@took:160,text"), [
    { name: "source", width: null },
    { name: "@took", width: 160 },
    { name: "text", width: null },
  ]);
});

test("invalid columns are left out, and each column is there once", (t) => {
  t.deepEqual(readColumns("text,nonsense,@,text,%zz"), [{ name: "text", width: null }]);
  t.is(readColumns("nonsense"), null);
  t.is(writeColumns(DEFAULT_COLUMNS), "");
});

test("columns are added before the tags, moved, resized and removed", (t) => {
  const names = (columns: typeof DEFAULT_COLUMNS): string => columns.map(({ name }) => name).join(" ");
  const added = toggleColumn(DEFAULT_COLUMNS, "@took");
  t.is(names(added), "class source text @took tags");
  t.is(names(moveColumn(added, "@took", -2)), "class @took source text tags");
  t.is(names(moveColumn(added, "class", -1)), "class source text @took tags");
  t.is(names(toggleColumn(added, "@took")), "class source text tags");
  t.is(writeColumns(resizeColumn(added, "@took", 5)), "class,source,text,@took:48,tags");
  t.deepEqual(toggleColumn([{ name: "text", width: null }], "text"), [{ name: "text", width: null }]);
});

test("one column takes the remaining width", (t) => {
  t.is(gridTracks(DEFAULT_COLUMNS), "112px 96px minmax(120px, 1fr) 152px");
  t.is(gridTracks([{ name: "source", width: null }]), "minmax(96px, 1fr)");
});

test("cells show fields and attributes as text", (t) => {
  const row = rowOf(1, {
    tags: ["a", "b"],
    value: 0,
    geo: { lat: 52.52, lon: 13.405 },
    attributes: { took: 8, codes: [1, "x"], "": true },
  });
  t.is(cellText(row, "tags"), "a b");
  t.is(cellText(row, "value"), "0");
  t.is(cellText(row, "geo"), "52.5200, 13.4050");
  t.is(cellText(row, "@codes"), "1, x");
  t.is(cellText(row, "@constructor"), "");
  t.is(cellText(row, "class"), "");
});
