import { createHmac } from "node:crypto";
import test from "ava";
import type { ExecutionContext } from "ava";
import type { BrowserContext, Page } from "playwright-core";

import { get, KEY, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };
const PATH = `/manage/1/logs/${LOG}/hooks`;
const SETTINGS = `#/${LOG}/settings/webhooks`;
const PHONE = { width: 360, height: 780 } as const;

/** Makes a hook as another browser does. */
async function makeHook(context: BrowserContext, hook: object): Promise<string | null> {
  const answer = await context.request.post(PATH, { data: hook, headers: HEADERS });
  if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`);
  return ((await answer.json()) as { secret: string | null }).secret;
}

/** Posts an issue as GitHub does. @returns the status */
async function postSigned(address: string, secret: string, title: string): Promise<number> {
  const body = JSON.stringify({
    action: "opened",
    issue: { number: 7, title },
    repository: { full_name: "octo/repo" },
    sender: { login: "octocat" },
  });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = {
    "Content-Type": "application/json",
    "X-GitHub-Event": "issues",
    "X-Hub-Signature-256": `sha256=${signature}`,
  };
  return (await fetch(address, { method: "POST", headers, body })).status;
}

/** The newest event of the log with a text. */
async function eventOf(text: string): Promise<Readonly<Record<string, unknown>>> {
  const query = encodeURIComponent(`GET events WHERE text = '${text}'`);
  let found: readonly Readonly<Record<string, unknown>>[] = [];
  await until(
    async () => {
      const { body } = await get(pages.service(), `/1/logs/${LOG}/query?query=${query}`);
      found = body as typeof found;
      return found.length > 0;
    },
    { what: `the event ${text}` },
  );
  return found[0]!;
}

async function openForm(page: Page, from: string): Promise<void> {
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByLabel("From").selectOption({ label: from });
}

const secretOf = (page: Page) => page.getByLabel("New secret", { exact: true }).and(page.locator("output"));
const rowOf = (page: Page, name: string) => page.locator("tr", { has: page.getByText(name, { exact: true }) });

async function assertFits(t: ExecutionContext, page: Page, what: string): Promise<void> {
  const [needed, there] = await page.evaluate(() => {
    const pane = document.querySelector(".pane")!;
    return [Math.max(document.documentElement.scrollWidth, pane.scrollWidth), innerWidth];
  });
  t.is(needed, there, what);
}

test.serial("a log without webhooks says what one is for", async (t) => {
  const { page } = await pages.open(t, { address: SETTINGS });
  await page.getByText(/^This log has no webhooks\. A webhook is an address to which another service posts/).waitFor();
  await assertAccessible(t, page, "no webhooks");
});

test.serial("a webhook of GitHub is made, and takes what is signed with the secret that is shown once", async (t) => {
  const { page } = await pages.open(t, { address: SETTINGS });
  await page.getByRole("button", { name: "New webhook" }).click();
  const from = page.getByLabel("From");
  // The form's first field has the focus, from the frame after it is drawn.
  await from.and(page.locator(":focus")).waitFor();
  t.is(await page.getByLabel("Name", { exact: true }).inputValue(), "github");
  await assertAccessible(t, page, "a new webhook");
  await page.getByRole("button", { name: "Make webhook" }).click();
  const secret = (await secretOf(page).textContent()) ?? "";
  t.regex(secret, /^whsec_/);
  await assertAccessible(t, page, "a webhook that was made");
  const address = (await page.locator("tr.at.address code").textContent()) ?? "";
  t.is(address, `${pages.service().postUrl}/1/logs/${LOG}/hooks/github`);
  await rowOf(page, "github").getByText("Yes", { exact: true }).waitFor();
  await rowOf(page, "github").getByText("GitHub", { exact: true }).waitFor();
  t.is(await postSigned(address, secret, "Signed by the page"), 200);
  t.is(await postSigned(address, `${secret}x`, "Not signed"), 401);
  await eventOf("octocat opened issue #7 of octo/repo: Signed by the page");
  await page.getByRole("button", { name: "Done" }).click();
  t.is(await page.getByText(secret).count(), 0);
  await page.reload();
  await rowOf(page, "github").waitFor();
  t.is(await page.getByText(secret).count(), 0);
});

test.serial("a name is checked while it is typed, and by the API as it is sent", async (t) => {
  const { page, context, problems } = await pages.open(t, { address: SETTINGS });
  await openForm(page, "Any JSON");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("my hook");
  const rule =
    "The name must be 1 to 63 letters a to z, digits and hyphens, not begin with a hyphen, and not be preview";
  await page.getByText(rule, { exact: true }).waitFor();
  t.is(await name.getAttribute("aria-invalid"), "true");
  await assertAccessible(t, page, "a name that is none");
  await page.getByRole("button", { name: "Make webhook" }).click();
  t.true(await name.evaluate((field) => field === document.activeElement), "what is wrong has the focus");
  await name.fill("GitHub");
  await page.getByText(`The log ${LOG} has a hook github already`, { exact: true }).waitFor();
  await name.fill("taken-meanwhile");
  t.is(await page.locator("#webhook-name-fault").count(), 0);
  await makeHook(context, { name: "taken-meanwhile" });
  problems.allowStatus(409);
  await page.getByRole("button", { name: "Make webhook" }).click();
  const beside = page.locator("#webhook-name-fault");
  await beside.waitFor();
  t.is(await beside.textContent(), `The log ${LOG} already has a hook taken-meanwhile`);
  t.true(await name.evaluate((field) => field === document.activeElement));
  t.is(await page.getByText("This did not work").count(), 0);
});

test.serial("a secret that the API refuses is said beside its field", async (t) => {
  const { page, problems } = await pages.open(t, { address: SETTINGS });
  await openForm(page, "Sentry");
  const secret = page.getByLabel("Secret of the sender", { exact: true });
  await secret.fill("short");
  problems.allowStatus(400);
  await page.getByRole("button", { name: "Make webhook" }).click();
  await page.locator("#webhook-secret-fault", { hasText: "8 to 200 printable ASCII characters" }).waitFor();
  t.true(await secret.evaluate((field) => field === document.activeElement));
  await assertAccessible(t, page, "a secret that is refused");
  await secret.fill("long-enough-a-secret");
  await page.getByRole("button", { name: "Make webhook" }).click();
  await rowOf(page, "sentry").getByText("Yes", { exact: true }).waitFor();
  t.is(await secretOf(page).count(), 0, "a secret that was given is not shown");
});

test.serial("an example body shows the event that a template makes of it, and the hook makes the same", async (t) => {
  const { page, problems } = await pages.open(t, { address: SETTINGS });
  await openForm(page, "Any JSON");
  await page.getByLabel("Name", { exact: true }).fill("deploys");
  const body = { who: "ann", what: "shop", took: 12.5, at: "2026-11-26T09:00:00Z" };
  await page.getByLabel("Example body").fill(JSON.stringify({ message: "untouched", ...body }));
  await page.getByRole("row", { name: "text untouched" }).waitFor();
  await page.getByLabel("Headers of the request").fill("no header");
  await page.getByText("Each line must be a name, a colon and a value").waitFor();
  await page.getByLabel("Headers of the request").fill("X-Stage: live");
  problems.allowStatus(400);
  const text = page.getByLabel("Text", { exact: true });
  await text.fill("{who");
  await page.locator("#template-text-fault", { hasText: "The field template.text is wrong at its end" }).waitFor();
  await assertAccessible(t, page, "a template that is wrong");
  await text.fill("{who} deployed {what} to {$header.x-stage}");
  await page.locator("#template-text-fault").waitFor({ state: "detached" });
  await page.getByLabel("Tags", { exact: true }).fill("deploy {what}");
  await page.getByLabel("Value", { exact: true }).fill("{took}");
  await page.getByLabel("Created", { exact: true }).fill("{at}");
  await page.getByRole("row", { name: "text ann deployed shop to live" }).waitFor();
  await page.getByRole("row", { name: "tags deploy shop" }).waitFor();
  await page.getByRole("row", { name: "value 12.5" }).waitFor();
  await page.getByRole("row", { name: "@who ann" }).waitFor();
  await page.getByText("1 event would be stored.").waitFor();
  await assertAccessible(t, page, "the preview of an event");
  await page.getByRole("button", { name: "Make webhook" }).click();
  await rowOf(page, "deploys").getByText("No, needs a key").waitFor();
  const address = (await page.locator("tr.at.address code").textContent()) ?? "";
  const headers = { "Content-Type": "application/json", "X-Stage": "live" };
  const answer = await fetch(`${address}?apikey=${KEY}`, { method: "POST", headers, body: JSON.stringify(body) });
  t.is(answer.status, 200);
  const stored = await eventOf("ann deployed shop to live");
  t.deepEqual(stored["tags"], ["deploy", "shop"]);
  t.is(stored["value"], 12.5);
  t.is(stored["created"], `/Date(${Date.parse(body.at)})/`);
});

test.serial("a body that cannot be read says so beside it, and examples of all senders can", async (t) => {
  const { page, problems } = await pages.open(t, { address: SETTINGS });
  problems.allowStatus(400);
  await openForm(page, "Any JSON");
  await page.getByLabel("Example body").fill("{");
  await page.locator("#example-body-fault").waitFor();
  const names = await page.getByLabel("From").locator("option").allTextContents();
  t.deepEqual(names, ["GitHub", "GitLab", "Alertmanager or Grafana", "Sentry", "Standard Webhooks", "Any JSON"]);
  const texts: (string | null)[] = [];
  for (const name of names) {
    await page.getByLabel("From").selectOption({ label: name });
    await page.getByLabel("Example body").fill("");
    await page.locator(".preview-event").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Fill in an example" }).click();
    await page.getByText("1 event would be stored.").waitFor();
    texts.push(await page.locator(".preview-event td").first().textContent());
  }
  t.deepEqual(texts.slice(0, 3), [
    "octocat merged pull request #12 of octo/repo: Fix the gate",
    "Ann Lee open Fix the gate of shop/web",
    "DiskFull: The disk of db-1 is full",
  ]);
  t.is(texts.at(-1), "Nightly build failed");
  t.is(new Set(texts).size, names.length);
});

test.serial("a webhook is changed: its secret is kept, or drawn anew", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS });
  const first = (await makeHook(context, { name: "moving", signature: "github", kind: "github" }))!;
  await page.reload();
  const address = `${pages.service().postUrl}/1/logs/${LOG}/hooks/moving`;
  await page.getByRole("button", { name: "Change moving" }).click();
  await page.getByRole("heading", { name: "Change moving" }).waitFor();
  t.true(await page.getByLabel("Keep the current secret").isChecked());
  await assertAccessible(t, page, "a webhook that is changed");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.waitForFunction(() => document.activeElement?.id === "change-moving");
  await page.getByRole("button", { name: "Change moving" }).click();
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.locator("tr.at", { hasText: "moving" }).first().waitFor();
  t.is(await secretOf(page).count(), 0);
  t.is(await postSigned(address, first, "With the first secret"), 200);
  await page.getByRole("button", { name: "Change moving" }).click();
  await page.getByLabel("Generate a new secret").check();
  await page.getByText(/^Requests signed with the old secret are refused once you save\./).waitFor();
  await page.getByRole("button", { name: "Save webhook" }).click();
  const second = (await secretOf(page).textContent()) ?? "";
  t.regex(second, /^whsec_/);
  t.not(second, first);
  t.is(await postSigned(address, first, "With the first secret, late"), 401);
  t.is(await postSigned(address, second, "With the second secret"), 200);
});

test.serial("a change keeps the list of tags of a template that was made elsewhere", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS });
  const template = { text: "{a}", tags: ["in review", "{b}"], each: "items" };
  await makeHook(context, { name: "elsewhere", template });
  await page.reload();
  await page.getByRole("button", { name: "Change elsewhere" }).click();
  await page.getByLabel("Source", { exact: true }).fill("ci");
  await page.getByRole("button", { name: "Save webhook" }).click();
  await page.locator("tr.at", { hasText: "elsewhere" }).first().waitFor();
  const stored = await context.request.get(`${PATH}/elsewhere`, { headers: HEADERS });
  t.deepEqual(((await stored.json()) as { template: object }).template, { ...template, source: "ci" });
});

test.serial("a webhook is removed once that is confirmed, and its sender is refused", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS });
  const secret = (await makeHook(context, { name: "leaving", signature: "github", kind: "github" }))!;
  await page.reload();
  const row = page.locator("tr.address", { hasText: "/hooks/leaving" });
  await row.getByRole("button", { name: "Remove" }).click();
  await row.getByText("Its sender will be refused.").waitFor();
  await row.getByRole("button", { name: "Keep" }).click();
  await row.getByRole("button", { name: "Remove" }).click();
  await row.getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  const address = `${pages.service().postUrl}/1/logs/${LOG}/hooks/leaving`;
  t.is(await postSigned(address, secret, "After it was removed"), 401);
});

test.serial("at 360 px the list, the form and the preview fit", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS, viewport: PHONE });
  await makeHook(context, { name: `a-${"long-".repeat(11)}name` });
  await page.reload();
  await page.getByRole("button", { name: "New webhook" }).waitFor();
  await assertFits(t, page, "the list");
  await assertAccessible(t, page, "webhooks on a small screen");
  await openForm(page, "Any JSON");
  await page.getByLabel("Example body").fill(JSON.stringify({ msg: "wide", long: "x".repeat(300) }));
  await page.getByRole("row", { name: "text wide" }).waitFor();
  await assertFits(t, page, "the form with a preview");
  await assertAccessible(t, page, "the form on a small screen");
});
