import test from "ava";
import * as fc from "fast-check";
import { parseStringPromise } from "xml2js";

import { renderNamedTexts, renderXml } from "../../src/http/xml.ts";

const HEAD = '<?xml version="1.0" encoding="utf-8"?>';

test("a list has an element for each item, and an empty list none", (t) => {
  t.is(
    renderXml({ root: "results", content: { log: [{ key: "a" }, { key: "b" }] } }),
    `${HEAD}<results><log><key>a</key></log><log><key>b</key></log></results>`,
  );
  t.is(renderXml({ root: "results", content: { log: [] } }), `${HEAD}<results/>`);
});

test("numbers, booleans and null are written as text", (t) => {
  const content = { value: 0, data: false, none: null, empty: "", geo: { lat: -76.2944 } };
  t.is(
    renderXml({ root: "results", content }),
    `${HEAD}<results><value>0</value><data>false</data><none/><empty/><geo><lat>-76.2944</lat></geo></results>`,
  );
});

test("markup is escaped, and a carriage return survives a parser", (t) => {
  t.is(
    renderXml({ root: "data", content: "<a href='x'>&amp;]]>\r\n" }),
    `${HEAD}<data>&lt;a href='x'&gt;&amp;amp;]]&gt;&#xD;\n</data>`,
  );
});

test("characters that XML forbids become U+FFFD; all others are kept", (t) => {
  t.is(
    renderXml({ root: "data", content: "a\u0000\u001f\u000b\ud800b\udc00\uffff😀\t" }),
    `${HEAD}<data>a\ufffd\ufffd\ufffd\ufffdb\ufffd\ufffd😀\t</data>`,
  );
});

test("a parser reads any text back unchanged", async (t) => {
  const characters = fc.string({ unit: "binary", maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(characters, { minLength: 1 }), async (texts) => {
      const document = renderXml({ root: "results", content: { text: texts } });
      const parsed = (await parseStringPromise(document, { normalize: false, trim: false })) as {
        results: { text: string[] };
      };
      // oxlint-disable-next-line no-control-regex
      const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
      // The parser returns "" for text of white space alone.
      const expected = texts.map((text) => text.toWellFormed().replace(forbidden, "\ufffd"));
      t.deepEqual(
        parsed.results.text.map((text) => text.trim()),
        expected.map((text) => text.trim()),
      );
    }),
  );
});

test("named texts are escaped as the texts of other elements are", async (t) => {
  t.deepEqual(
    [...renderNamedTexts("attribute", "a\"\t\n\r<>&'\u0001", ["", " ", "x\t\n\r<>&\"'\ud800"])],
    ["/>", "> </attribute>", ">x\t\n&#xD;&lt;&gt;&amp;\"'\ufffd</attribute>"].map(
      (end) => `<attribute name="a&quot;&#x9;&#xA;&#xD;&lt;>&amp;'\ufffd"${end}`,
    ),
  );
  const characters = fc.string({ unit: "binary", maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(characters, characters, async (name, text) => {
      const [element] = renderNamedTexts("attribute", name, [text]);
      const parsed = (await parseStringPromise(element!, { trim: false, explicitCharkey: true })) as {
        attribute: { $: { name: string }; _?: string };
      };
      const plain = renderXml({ root: "attribute", content: text }).slice(HEAD.length);
      t.is(element!.replace(/ name="[^"]*"/, ""), plain);
      // oxlint-disable-next-line no-control-regex
      t.is(
        parsed.attribute.$.name,
        name.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd"),
      );
    }),
  );
});
