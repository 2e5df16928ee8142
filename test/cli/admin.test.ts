import test from "ava";
import { execFile } from "node:child_process";

import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, AUTHORIZATION, environmentOf, LOG, type Service, startService } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** The old password is tried until the new one is known. */
const MANY_FAILURES = { LOGGIA_RATE_FAILURES: "10000" };

type Run = { readonly code: number; readonly out: string; readonly err: string };

/** Runs `loggia admin reset` on the service's machine with its settings. */
function reset(environment: Record<string, string>, words: readonly string[], input = ""): Promise<Run> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    const child = execFile(process.execPath, [LOGGIA, "admin", "reset", ...words], { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
    // A command that fails at once does not read its input.
    child.stdin?.on("error", () => {}).end(input);
  });
}

async function signIn({ apiUrl }: Service, email: string, password: string): Promise<number> {
  const headers = { Authorization: `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}` };
  return (await fetch(`${apiUrl}/manage/1/accounts`, { headers })).status;
}

async function request({ apiUrl }: Service, method: string, path: string, body?: object): Promise<number> {
  const init = { method, headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" } };
  const response = await fetch(apiUrl + path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
  return response.status;
}

for (const kind of KINDS) {
  test(`${kind}: a forgotten password is reset while the service is stopped and while it runs`, async (t) => {
    const environment = { ...environmentOf(kind, temporaryFolder(t)), ...MANY_FAILURES };
    await (await startService(environment)).close();
    const drawn = await reset(environment, []);
    t.is(drawn.err, "");
    const password = /^password of ann@example\.org set, password: ([\w-]{16})\n$/.exec(drawn.out)?.[1] ?? "";
    const service = await startService(environment);
    t.teardown(() => service.close());
    t.is(await signIn(service, ADMIN.email, password), 200);
    t.is(await signIn(service, ADMIN.email, ADMIN.password), 401);

    const given = await reset(environment, [ADMIN.email, "--password-stdin"], "a password of ours\n");
    t.is(given.out, "password of ann@example.org set\n");
    await until(async () => (await signIn(service, ADMIN.email, "a password of ours")) === 200, {
      what: "the new one",
    });
  });

  test(`${kind}: without a service admin the named account is promoted or created`, async (t) => {
    const environment = { ...environmentOf(kind, temporaryFolder(t)), ...MANY_FAILURES };
    const service = await startService(environment);
    t.teardown(() => service.close());
    const bob = { email: "bob@example.org", password: "battery staple" };
    t.is(await request(service, "POST", "/manage/1/accounts", bob), 201);
    t.is(await request(service, "PUT", `/manage/1/logs/${LOG}/shares/${bob.email}`, { role: "admin" }), 201);
    t.regex(
      (await reset(environment, ["eve@example.org"])).err,
      /There is no account eve@example\.org.*ann@example\.org/,
    );
    t.regex(
      (await reset(environment, [bob.email, "--password-stdin"], "horse staple\n")).out,
      /^password of bob\S+ set$/m,
    );
    await until(async () => (await signIn(service, bob.email, "horse staple")) === 403, { what: "no admin yet" });

    t.is(await request(service, "DELETE", `/manage/1/accounts/${ADMIN.email}`), 204);
    t.regex((await reset(environment, [])).err, /no service admin: name the account/);
    const made = await reset(environment, [bob.email, "--password-stdin"], "staple of bob\n");
    t.is(made.out, "password of bob@example.org (now a service admin) set\n");
    await until(async () => (await signIn(service, bob.email, "staple of bob")) === 200, { what: "the new admin" });
  });
}

test("a password that is too short, empty or on the command line is refused", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  await (await startService(environment)).close();
  const short = await reset(environment, ["--password-stdin"], "short\n");
  t.like(short, { code: 1, out: "", err: "loggia: The field password must have 8 to 200 characters\n" });
  t.like(await reset(environment, ["--password-stdin"]), {
    code: 1,
    err: "loggia: Standard input contains no password\n",
  });
  t.is((await reset(environment, ["--password", "a password of ours"])).code, 1);
});

test("settings that lead to no service are reported, and nothing is created", async (t) => {
  const folder = temporaryFolder(t);
  for (let run = 0; run < 2; run += 1) {
    const { code, err } = await reset({ LOGGIA_DATA: folder }, [ADMIN.email]);
    t.is(code, 1);
    t.regex(err, /^loggia: LOGGIA_DATA is "[^"]+", where no service has run/);
  }
  if (!KINDS.includes("cluster")) return;
  const environment = { ...environmentOf("cluster", folder), LOGGIA_NAMESPACE: uniqueName("test") };
  for (let run = 0; run < 2; run += 1) {
    const { code, err } = await reset(environment, [ADMIN.email]);
    t.is(code, 1);
    t.regex(err, /^loggia: LOGGIA_NAMESPACE is "[^"]+", where no service has run/);
  }
});
