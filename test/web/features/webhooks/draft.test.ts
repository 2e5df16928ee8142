import test from "ava";

import type { HookRecord } from "../../../../src/web/parts/api/types.ts";
import {
  draftOfHook,
  newHookDraft,
  hookSettings,
  showsTemplate,
  withSender,
} from "../../../../src/web/features/webhooks/draft.ts";
import { readHeaders } from "../../../../src/web/features/webhooks/example.ts";
import { holdOfBest_ms } from "../../../support/turns.ts";

const HOOK: HookRecord = {
  name: "ci",
  kind: "json",
  signature: "none",
  template: null,
  created: "/Date(0)/",
  path: "/1/logs/shop/hooks/ci",
};

test("a new draft has the usual name and signature of its sender, and a free name alone", (t) => {
  t.like(newHookDraft("github", []), { name: "github", signature: "github", secret: "drawn" });
  t.is(newHookDraft("github", [{ name: "github" }]).name, "");
  t.deepEqual(hookSettings(newHookDraft("github", []), null), {
    kind: "github",
    signature: "github",
    template: null,
    secret: null,
  });
});

test("another sender changes what follows from the sender, and nothing that was typed", (t) => {
  const gitlab = withSender(newHookDraft("github", []), "gitlab", [], true);
  t.like(gitlab, { name: "gitlab", signature: "gitlab" });
  t.regex(gitlab.template.text, /object_kind/);
  const json = withSender(gitlab, "json", [], true);
  t.is(json.template.text, "", "the template of GitLab leaves with it");
  const typed = { ...json, name: "mine", template: { ...json.template, text: "{a}" } };
  t.like(withSender(typed, "standard", [], true), { name: "mine", template: { text: "{a}" }, secret: "given" });
  t.is(withSender(typed, "github", [], true).template.text, "", "GitHub's form needs none");
  const signed = draftOfHook({ ...HOOK, signature: "standard" });
  t.like(withSender(signed, "gitlab", [], false), { name: "ci", secret: "kept", signature: "gitlab" });
});

test("a secret is sent where one is wanted, and not where it stays", (t) => {
  const kept = draftOfHook({ ...HOOK, signature: "gitlab" });
  t.false("secret" in hookSettings(kept, HOOK));
  t.is(hookSettings({ ...kept, secret: "drawn" }, HOOK)["secret"], null);
  t.is(hookSettings({ ...kept, secret: "given", given: "12345678" }, HOOK)["secret"], "12345678");
  t.false("secret" in hookSettings({ ...kept, secret: "given", signature: "none" }, HOOK));
});

test("a list of tags stays a list until it is changed", (t) => {
  const hook = { ...HOOK, template: { tags: ["in review", "{b}"] } };
  const draft = draftOfHook(hook);
  t.is(draft.template.tags, "in review {b}");
  t.deepEqual(hookSettings(draft, hook)["template"], hook.template);
  const changed = { ...draft, template: { ...draft.template, tags: "{b}" } };
  t.deepEqual(hookSettings(changed, hook)["template"], { tags: "{b}" });
  t.is(hookSettings({ ...draft, template: { ...draft.template, tags: " " } }, hook)["template"], null);
});

test("the fields of a template are there for JSON, and for a hook that has one", (t) => {
  t.false(showsTemplate(newHookDraft("github", [])));
  t.true(showsTemplate(newHookDraft("json", [])));
  t.true(showsTemplate(draftOfHook({ ...HOOK, kind: "github", template: { text: "{a}" } })));
});

test("headers are read a line each, and a line that is none is no header", (t) => {
  t.deepEqual(readHeaders("X-A: 1\n\n  x-b:two: three \n"), { "X-A": "1", "x-b": "two: three" });
  t.deepEqual(readHeaders(""), {});
  t.is(readHeaders("X-A: 1\nnothing"), null);
});

test("blanks within a header take no time that grows with their square", async (t) => {
  const value = `a${" ".repeat(200_000)}b`;
  const hold_ms = await holdOfBest_ms(2_000, async () => t.deepEqual(readHeaders(`X-A: ${value}`), { "X-A": value }));
  t.true(hold_ms < 2_000, `${hold_ms} ms`);
});
