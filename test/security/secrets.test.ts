import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { environmentOf, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** Each must be found only where its owner put it. */
const SECRETS = {
  password: "correct-horse-of-the-admin",
  changed: "battery-staple-of-bob",
  key: "key-of-the-operators-choice",
  wrongPassword: "guess-at-a-password",
  wrongKey: "lg_guessatakeyguessatakeyguessatakey",
  mail: "password-of-the-mail-server",
};

/** Starts a service in a process of its own that logs as much as possible. */
async function start(t: { teardown(end: () => void): void }, environment: Record<string, string>) {
  const child = spawn(process.execPath, [LOGGIA, "start"], {
    env: {
      ...process.env,
      ...environment,
      LOGGIA_ADMIN: `ann@example.org:${SECRETS.password}`,
      LOGGIA_LOG: `${LOG}:${SECRETS.key}`,
      LOGGIA_LOG_LEVEL: "trace",
      // Nothing listens there, so the log mentions it repeatedly.
      LOGGIA_SMTP: `smtp://loggia:${SECRETS.mail}@127.0.0.1:1`,
      LOGGIA_MAIL_FROM: "loggia@example.org",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  killAfterExit(child);
  t.teardown(() => child.kill("SIGKILL"));
  const seen = { out: "", log: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (seen.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (seen.log += text));
  const address = (name: string) => new RegExp(`^${name} +(http://\\S+)/1$`, "m").exec(seen.out)?.[1];
  const api = await until(() => address("API"), { what: "the API" });
  const post = await until(() => address("posting"), { what: "the posting address" });
  return { child, seen, api, post };
}

const basic = (email: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`,
});

/**
 * Uses every secret in every place where one may occur, correctly and incorrectly. Returns the
 * secrets that the service generated, and all error responses.
 */
async function keepBusy({ api, post }: { api: string; post: string }): Promise<{ drawn: string[]; answers: string }> {
  const ann = basic("ann@example.org", SECRETS.password);
  let answers = "";
  const ask = async (url: string, init: RequestInit = {}): Promise<string> => {
    const response = await fetch(url, init);
    const text = await response.text();
    // A new key is returned once, to its creator.
    if (!url.endsWith("/apiKeys") || response.status !== 201)
      answers += `${JSON.stringify([...response.headers])}${text}`;
    return text;
  };
  const json = (method: string, body: object) => ({
    method,
    headers: { ...ann, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const manage = `${api}/manage/1`;
  const { key } = JSON.parse(await ask(`${manage}/logs/${LOG}/apiKeys`, json("POST", { scope: "read-write" })));
  await ask(`${manage}/accounts`, json("POST", { email: "bob@example.org", password: SECRETS.changed }));
  await ask(`${manage}/accounts`, json("POST", { email: "bob", password: SECRETS.changed, admin: SECRETS.changed }));
  await ask(`${manage}/accounts/bob@example.org`, json("PUT", { password: `${SECRETS.changed}-2` }));
  await ask(`${manage}/logs/${LOG}/classFilters`, json("POST", { key: "all", display: "x", color: "red", tag: "a" }));
  await ask(`${manage}/logs/${LOG}/classFilters/all/options`, json("PUT", { alert: true, notify: true }));
  const events = `${post}/1/logs/${LOG}/events`;
  for (const apikey of [SECRETS.key, key as string, SECRETS.wrongKey]) {
    const form = (fields: Record<string, string>) => ({ method: "POST", body: new URLSearchParams(fields) });
    await ask(events, form({ apikey, text: "hello", tags: "a" }));
    await ask(events, form({ apikey, text: "" }));
    await ask(`${events}?apikey=${apikey}`, form({ text: "x".repeat(8_001) }));
    await ask(events, { ...form({ text: "hello" }), headers: { Authorization: `Bearer ${apikey}` } });
    await ask(events, { ...form({ text: "hello" }), headers: { "X-API-Key": apikey } });
    await ask(`${events}?fmt=jsonp&callback=f&text=x&apikey=${apikey}`);
    await ask(`${events}?fmt=jsonp&callback=1&text=x&apikey=${apikey}`);
    await ask(`${events}?apikey=${apikey}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: `[{"text":"hello"},{"text":""},{"apikey":"${apikey}"}]`,
    });
    await ask(`${events}?apikey=${apikey}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "[{",
    });
    await ask(`${events}/nowhere?apikey=${apikey}`, form({ text: "hello" }));
    await ask(`${api}/1/logs?apikey=${apikey}`);
    await ask(`${api}/1/logs/${LOG}/events?apikey=${apikey}&pagesize=x`);
    await ask(`${api}/1/logs/${LOG}/query?apikey=${apikey}&query=GET+evil`);
    await ask(`${api}/nowhere?apikey=${apikey}`);
    await ask(`${api}/1/logs`, { method: "POST", body: `apikey=${apikey}` });
  }
  for (const password of [SECRETS.password, SECRETS.wrongPassword]) {
    await ask(`${api}/1/logs`, { headers: basic("ann@example.org", password) });
    await ask(`${api}/1/logs`, { headers: basic("nobody@example.org", password) });
    await ask(`${api}/1/logs/${LOG}/alerts`, { method: "DELETE", body: `ann@example.org:${password}` });
    await ask(`${api}/1/logs/${LOG}/events?text=(`, { headers: basic("ann@example.org", password) });
    await ask(`${api}/${password}`, { headers: { Authorization: password } });
  }
  for (const address of [api, post]) for (const path of ["/metrics", "/health/ready"]) await ask(address + path);
  return { drawn: [key as string], answers };
}

/** Whether an event of this text is listed. */
async function lists(api: string, text: string): Promise<boolean> {
  const headers = basic("ann@example.org", SECRETS.password);
  const answer = await (await fetch(`${api}/1/logs/${LOG}/events`, { headers })).text();
  return answer.includes(`"text":"${text}"`);
}

/** Returns a secret in its forms in headers, addresses and files. */
function formsOf(secret: string): string[] {
  return [secret, Buffer.from(secret).toString("base64").replace(/=+$/, ""), encodeURIComponent(secret)];
}

for (const kind of KINDS) {
  test(`${kind}: after a busy session no secret is in the log, a response, the metrics or the stored files`, async (t) => {
    t.timeout(120_000);
    const folder = join(temporaryFolder(t), "data");
    const environment = environmentOf(kind, folder);
    const service = await start(t, environment);
    const { drawn, answers } = await keepBusy(service);
    // The mail server is unreachable, which is in the log by now.
    await until(() => service.seen.log.includes("mail server"), { what: "the failed mail" });
    await until(() => lists(service.api, "hello"), { what: "the posts to be listed" });
    // Not before all of its log was read.
    const closed = once(service.child, "close");
    service.child.kill("SIGTERM");
    await closed;

    const stored = kind === "embedded" ? storedFiles(folder) : await storedDocuments(environment["LOGGIA_NAMESPACE"]!);
    t.true(stored.includes("hello"), "what was stored is looked at");
    for (const secret of [...Object.values(SECRETS), ...drawn].flatMap(formsOf)) {
      // An unknown address is repeated in the response, whatever its caller wrote into it.
      t.false(service.seen.log.includes(secret), `in the log: ${secret}`);
      t.false(answers.includes(secret), `in an answer: ${secret}`);
      t.false(stored.includes(secret), `stored: ${secret}`);
    }
    for (const line of service.seen.log.trim().split("\n")) t.notThrows(() => void JSON.parse(line), line);
  });
}

function storedFiles(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

async function storedDocuments(namespace: string): Promise<string> {
  const indices = `${elasticsearchUrl()}/${namespace}*`;
  await fetch(`${indices}/_refresh?expand_wildcards=all`, { method: "POST" });
  return await (await fetch(`${indices}/_search?size=1000&expand_wildcards=all`)).text();
}
