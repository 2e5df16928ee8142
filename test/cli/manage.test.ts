import test, { type ExecutionContext } from "ava";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { parseLogKey } from "../../src/events/event.ts";
import { ADMIN, LOG, type Service, serviceOf } from "../support/service.ts";
import { post } from "../support/service.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

type Run = { readonly code: number; readonly out: string; readonly err: string };
type Loggia = (...words: string[]) => Promise<Run>;

/** Runs the command in a process of its own, for a service and as an account. */
function commandOf(service: Pick<Service, "apiUrl">, as = `${ADMIN.email}:${ADMIN.password}`): Loggia {
  return (...words) =>
    new Promise((resolve) => {
      const env = { ...process.env, LOGGIA_AS: as, NO_COLOR: "1" };
      execFile(process.execPath, [LOGGIA, ...words, "--api", service.apiUrl], { env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err });
      });
    });
}

/**
 * Waits for a command that must succeed.
 * @returns its output without the final line break
 */
async function done(t: ExecutionContext, run: Promise<Run>): Promise<string> {
  const { code, out, err } = await run;
  t.is(err, "");
  t.is(code, 0);
  return out.replace(/\n$/, "");
}

async function refused(t: ExecutionContext, run: Promise<Run>, message: RegExp): Promise<void> {
  const { code, out, err } = await run;
  t.is(code, 1);
  t.is(out, "");
  t.regex(err, message);
  t.is(err.trimEnd().split("\n").length, 1, "it is reported in one line");
}

/** Returns the cells of a table without its header. */
function cells(table: string): string[][] {
  return table.split("\n").slice(1).map((row) => row.split(/ {2,}/)); // prettier-ignore
}

test("accounts are added, listed and removed, and passwords changed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const loggia = commandOf(service);
  const added = await done(t, loggia("user", "add", "bob@example.org", "--share", LOG, "--password", "bob's password"));
  t.is(added, `user bob@example.org added as user of log ${LOG}`);
  const drawn = await done(t, loggia("user", "add", "eve@example.org", "--admin"));
  t.regex(drawn, /^user eve@example\.org added, password: [\w-]{16}$/);
  t.deepEqual(
    cells(await done(t, loggia("user", "list"))).map(([email, , role]) => [email, role]),
    [[ADMIN.email, "yes"], ["bob@example.org", "no"], ["eve@example.org", "yes"]], // prettier-ignore
  );

  const bob = commandOf(service, "bob@example.org:bob's password");
  t.deepEqual(cells(await done(t, bob("log", "list"))), [[LOG, LOG]]);
  await done(t, bob("user", "password", "bob@example.org", "--password", "a new password"));
  await refused(t, bob("log", "list"), /^loggia: GET \/1\/logs was refused with 401: E-mail or password is wrong/);
  await done(t, commandOf(service, "bob@example.org:a new password")("log", "list"));
  t.regex(await done(t, loggia("user", "password", "bob@example.org")), /^password .* set, password: [\w-]{16}$/);

  t.is(await done(t, loggia("user", "remove", "bob@example.org")), "user bob@example.org removed");
  await refused(t, loggia("user", "remove", "bob@example.org"), /refused with 404: There is no account/);
  await refused(
    t,
    loggia("user", "add", "x@example.org", "--password", "short"),
    /400: The field password must have 8/,
  );
});

test("hooks are created, changed, listed and removed, and generated secrets are shown once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const loggia = commandOf(service);
  const inLog = ["--log", LOG] as const;
  const made = await done(t, loggia("hook", "add", "github", ...inLog, "--signature", "github"));
  t.regex(
    made,
    /^hook github of log first added: POST \/1\/logs\/first\/hooks\/github; its secret, shown only once: whsec_\S{44}$/,
  );
  const template = '{"text":"{a}"}';
  const plain = await done(t, loggia("hook", "add", "deploys", ...inLog, "--template", template));
  t.is(plain, "hook deploys of log first added: POST /1/logs/first/hooks/deploys");
  t.deepEqual(cells(await done(t, loggia("hook", "list", ...inLog))), [
    ["deploys", "json", "none", template, "/1/logs/first/hooks/deploys"],
    ["github", "github", "github", "/1/logs/first/hooks/github"],
  ]);
  t.is(
    await done(t, loggia("hook", "change", "deploys", ...inLog, "--secret", `whsec_${"A".repeat(32)}`)),
    "hook deploys of log first changed",
  );
  await done(t, loggia("hook", "change", "github", ...inLog, "--template", template));
  t.deepEqual(
    cells(await done(t, loggia("hook", "list", ...inLog))).map(([name, kind, signature, own]) => [
      name,
      kind,
      signature,
      own,
    ]),
    [["deploys", "json", "standard", template], ["github", "github", "github", template]], // prettier-ignore
  );
  const account = ["--api", service.apiUrl, "--as", `${ADMIN.email}:${ADMIN.password}`];
  const words = ["hook", "change", "deploys", ...inLog, "--secret-stdin", ...account];
  const piped = execFile(process.execPath, [LOGGIA, ...words]);
  piped.stdin!.end(`whsec_${"B".repeat(32)}\n`);
  t.deepEqual(await once(piped, "exit"), [0, null]);
  t.is(service.ports.catalog.cachedHook(parseLogKey(LOG)!, "deploys")?.secret, `whsec_${"B".repeat(32)}`);
  const renewed = await done(t, loggia("hook", "change", "github", ...inLog, "--new-secret"));
  const before = made.split(" ").at(-1)!;
  const [, secret = ""] = /^hook github of log first changed; its secret, shown only once: (whsec_\S{44})$/.exec(
    renewed,
  )!;
  t.not(secret, before);
  t.like(service.ports.catalog.cachedHook(parseLogKey(LOG)!, "github"), { secret, template: { text: "{a}" } });
  await done(t, loggia("hook", "add", "open", ...inLog));
  t.regex(await done(t, loggia("hook", "change", "open", ...inLog, "--new-secret")), /shown only once: whsec_/);
  await refused(
    t,
    loggia("hook", "change", "github", ...inLog, "--new-secret", "--secret", "given-here"),
    /Give only one of --secret, --secret-stdin and --new-secret/,
  );
  await refused(t, loggia("hook", "change", "github", ...inLog), /Give at least one setting to change/);
  await refused(t, loggia("hook", "add", "x", ...inLog, "--template", "{"), /--template cannot be read/);
  await refused(t, loggia("hook", "add", "x", ...inLog, "--template", '{"text":"{"}'), /400: The field template\.text/);
  t.is(await done(t, loggia("hook", "remove", "github", ...inLog)), "hook github of log first removed");
  await refused(t, loggia("hook", "remove", "github", ...inLog), /404: The log first has no hook "github"/);
});

test("logs are added, shown, changed and shared", async (t) => {
  const service = await serviceOf(t, "embedded");
  const loggia = commandOf(service);
  t.regex(await done(t, loggia("log", "add", "shop", "--display", "The shop")), /^log shop added/);
  t.deepEqual(cells(await done(t, loggia("log", "list"))), [[LOG, LOG], ["shop", "The shop"]]); // prettier-ignore
  t.deepEqual(cells(await done(t, loggia("log", "show", "shop"))), [["shop", "The shop", "development", "for ever"]]);
  const changed = await done(t, loggia("log", "set", "shop", "--display", "Our shop", "--retention-days", "30"));
  t.deepEqual(cells(changed), [["shop", "Our shop", "development", "30 days"]]);
  const kept = await done(t, loggia("log", "set", "shop", "--retention-days", "never"));
  t.deepEqual(cells(kept), [["shop", "Our shop", "development", "for ever"]]);
  await refused(t, loggia("log", "set", "shop"), /^loggia: Give --display, --retention-days or both\n$/);
  t.regex((await loggia("log", "set", "shop", "--retention-days", "0")).err, /whole number from 1 to 36500/);

  await done(t, loggia("user", "add", "bob@example.org", "--password", "bob's password"));
  t.is(
    await done(t, loggia("log", "share", "shop", "bob@example.org")),
    "log shop shared with bob@example.org as user",
  );
  t.deepEqual(
    cells(await done(t, loggia("log", "shares", "shop"))).toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
    [[ADMIN.email, "admin"], ["bob@example.org", "user"]], // prettier-ignore
  );
  const bob = commandOf(service, "bob@example.org:bob's password");
  await refused(t, bob("log", "show", "shop"), /refused with 403: This call needs the admin role/);
  await done(t, loggia("log", "share", "shop", "bob@example.org", "--role", "admin"));
  await done(t, bob("log", "show", "shop"));
  t.regex(
    await done(t, loggia("log", "unshare", "shop", "bob@example.org")),
    /is no longer shared with bob@example\.org/,
  );
  await refused(t, bob("log", "show", "shop"), /refused with 404/);
  await refused(t, loggia("log", "unshare", "shop", ADMIN.email), /refused with 409/);
});

test("API keys are generated, listed, disabled, enabled and removed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const loggia = commandOf(service);
  const drawn = await done(t, loggia("key", "add", "--log", LOG, "--scope", "read-only"));
  const [, id = "", secret = ""] = /^read-only key (\S+) of log first, shown only once: (\S+)$/.exec(drawn) ?? [];
  const reads = async () => (await fetch(`${service.apiUrl}/1/logs?apikey=${secret}`)).status;
  t.is(await reads(), 200);
  const listed = async () => cells(await done(t, loggia("key", "list", "--log", LOG))).find(([key]) => key === id);
  t.deepEqual(await listed(), [id, "read-only", "enabled"]);
  t.is(await done(t, loggia("key", "disable", id, "--log", LOG)), `key ${id} of log ${LOG} disabled`);
  t.deepEqual(await listed(), [id, "read-only", "disabled"]);
  t.is(await reads(), 401);
  t.is(await done(t, loggia("key", "enable", id, "--log", LOG)), `key ${id} of log ${LOG} enabled`);
  t.is(await reads(), 200);
  t.is(await done(t, loggia("key", "remove", id, "--log", LOG)), `key ${id} of log ${LOG} removed`);
  t.is(await listed(), undefined);
  t.is(await reads(), 401);
  t.regex((await loggia("key", "add", "--log", LOG, "--scope", "all")).err, /Allowed choices are read-write/);
});

test("classes are added, changed field by field, listed and removed; options are per account", async (t) => {
  const service = await serviceOf(t, "embedded");
  const loggia = commandOf(service);
  const add = ["class", "add", "errors", "--log", LOG, "--tag", "error", "--color", "red", "--weight", "-3"];
  t.is(await done(t, loggia(...add)), `class errors of log ${LOG} added`);
  const listed = async () => JSON.parse(await done(t, loggia("class", "list", "--log", LOG, "--json"))) as unknown;
  const errors = { key: "errors", display: "errors", color: "red", tag: "error", text: "", link: "", source: "" };
  t.deepEqual(await listed(), [{ ...errors, weight: -3 }]);
  await done(t, loggia("class", "change", "errors", "--log", LOG, "--weight", "7", "--tag", "", "--text", "failed"));
  t.deepEqual(await listed(), [{ ...errors, tag: "", text: "failed", weight: 7 }]);
  t.regex(
    await done(t, loggia("class", "list", "--log", LOG)),
    /^KEY +DISPLAY +COLOR +TAG +TEXT +LINK +SOURCE +WEIGHT\n/,
  );
  await refused(t, loggia("class", "change", "errors", "--log", LOG), /Give at least one/);
  await refused(t, loggia("class", "change", "ghosts", "--log", LOG, "--color", "red"), /refused with 404/);
  await refused(t, loggia("class", "add", "all", "--log", LOG), /400: A class filter needs a condition/);

  const shown = async () => cells(await done(t, loggia("options", "show", "errors", "--log", LOG)))[0];
  t.deepEqual(await shown(), ["off", "off", "off"]);
  t.is(await done(t, loggia("alert", "on", "errors", "--log", LOG)), `alert for class errors of log ${LOG} is on`);
  t.is(await done(t, loggia("hide", "on", "errors", "--log", LOG)), `hide for class errors of log ${LOG} is on`);
  t.deepEqual(await shown(), ["on", "off", "on"]);
  t.is(await done(t, loggia("notify", "on", "errors", "--log", LOG)), `notify for class errors of log ${LOG} is on`);
  t.is(await done(t, loggia("alert", "off", "errors", "--log", LOG)), `alert for class errors of log ${LOG} is off`);
  t.deepEqual(await shown(), ["off", "on", "on"]);

  t.is(await done(t, loggia("class", "remove", "errors", "--log", LOG)), `class errors of log ${LOG} removed`);
  t.deepEqual(await listed(), []);
  await refused(t, loggia("options", "show", "errors", "--log", LOG), /refused with 404/);
});

test("tracked users are listed", async (t) => {
  const service = await serviceOf(t, "embedded");
  await post(service, { text: "one" });
  const form = new URLSearchParams({ apikey: "key-of-the-first-log", user: "carla", page: "/cart" });
  t.is((await fetch(`${service.postUrl}/1/logs/${LOG}/users`, { method: "POST", body: form })).status, 201);
  const loggia = commandOf(service);
  const rows = await until(
    async () => {
      const listed = cells(await done(t, loggia("log", "users", LOG)));
      return listed.length > 0 ? listed : null;
    },
    { what: "the user" },
  );
  t.like(rows[0], { 0: "carla" });
  t.regex(rows[0]?.join(" ") ?? "", /^carla .*\/cart \d{4}-\d\d-\d\dT[\d:.]+Z 1$/);
});

test("an operation that is impossible is reported in one line with exit code 1", async (t) => {
  const nowhere = commandOf({ apiUrl: "http://127.0.0.1:1" });
  await refused(t, nowhere("log", "list"), /^loggia: The service at http:\/\/127\.0\.0\.1:1 did not answer: /);
  await refused(t, commandOf({ apiUrl: "nonsense" })("log", "list"), /^loggia: --api \(or LOGGIA_API\) is "nonsense"/);
  await refused(
    t,
    commandOf({ apiUrl: "http://127.0.0.1:1" }, "ann")("log", "list"),
    /^loggia: --as \(or LOGGIA_AS\) must be/,
  );
  const { code, err } = await nowhere("class", "add", "errors");
  t.is(code, 1);
  t.regex(err, /required option '--log <key>' not specified/);
});

test("a hint of the service is shown beside a list", async (t) => {
  const service = await serviceOf(t, "embedded");
  // Forwards requests with a misspelt parameter, which the command itself never sends.
  const handOn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = { Authorization: request.headers.authorization ?? "" };
    const answer = await fetch(`${service.apiUrl}${request.url}&pagesiz=5`, { headers });
    const hint = answer.headers.get("x-loggia-hint");
    response.writeHead(answer.status, hint === null ? {} : { "X-Loggia-Hint": hint });
    response.end(await answer.text());
  };
  const server = createServer((request, response) => void handOn(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, out, err } = await commandOf({ apiUrl })("log", "users", LOG);
  t.is(code, 0);
  t.regex(out, /^USER/);
  t.is(err, "loggia: hint from the service: Unknown parameter pagesiz. Did you mean pagesize?\n");
});
