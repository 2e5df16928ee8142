import test from "ava";

import { encodeDocument, NO_COLUMNS } from "../../../../src/store/elasticsearch/documents/document.ts";
import { event, newLog } from "../../../contract/store-fixture.ts";

const MB = 1024 * 1024;

test("a list of many equal values of a long name is a document of moderate size", (t) => {
  const attributes = JSON.stringify({
    ["\u{1f600}".repeat(200)]: Array.from({ length: 60_000 }, (_, i) => `${i % 10}`),
  });
  for (const hasColumns of [NO_COLUMNS, () => true]) {
    const encoded = encodeDocument(event(newLog(), { attributes }), hasColumns);
    t.true(encoded.length < 2 * MB, `${encoded.length} characters`);
    const { indexed } = JSON.parse(encoded) as { indexed: { terms: readonly string[]; kinds: readonly string[] } };
    t.is(new Set(indexed.terms).size, indexed.terms.length);
    t.is(indexed.kinds.length, 1);
  }
});
