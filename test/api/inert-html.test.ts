import test from "ava";

import { inertHtml } from "../../src/api/inert-html.ts";

test("elements that reach the network despite a sandbox are renamed, however they are written", (t) => {
  t.is(
    inertHtml(`<LINK rel=preconnect href=//a><link/rel=dns-prefetch><iframe srcdoc="&lt;link&gt;"></iframe>`),
    `<x-LINK rel=preconnect href=//a><x-link/rel=dns-prefetch><x-iframe srcdoc="&lt;link&gt;"></x-iframe>`,
  );
  t.is(inertHtml("<<link>"), "<<x-link>");
});

test("all other HTML is returned as it was posted", (t) => {
  const html = `<!doctype html><a href="link">link</a><style>a { color: red }</style>< link>&lt;link><b>iframe</b>`;
  t.is(inertHtml(html), html);
});
