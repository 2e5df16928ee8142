import test from "ava";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { showSecrets } from "../../src/cli/first-secrets.ts";
import { StartError } from "../../src/errors.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { temporaryFolder } from "../support/temporary.ts";

const FIRST = {
  admin: { email: "admin@localhost", password: "a-password" },
  log: { key: parseLogKey("first-log")!, apiKey: "lg_a-key" },
};
const NONE = { password: false, apiKey: false };

test("a terminal shows the secrets, and no file has them", async (t) => {
  const folder = temporaryFolder(t);
  const text = await showSecrets(FIRST, { given: NONE, isResumed: false, isTerminal: true, folder });
  t.regex(text, /^First start\. This is shown only once:\n[^]* a-password\n[^]* lg_a-key\n$/);
  t.throws(() => statSync(join(folder, "first-start.txt")), { code: "ENOENT" });
});

test("a file keeps the secrets of an interrupted first start, which may be valid, and is closed to others", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "first-start.txt");
  writeFileSync(file, "");
  chmodSync(file, 0o644);
  const options = { given: NONE, isTerminal: false, folder };
  await showSecrets(FIRST, { ...options, isResumed: false });
  const text = await showSecrets({ ...FIRST, admin: null }, { ...options, isResumed: true });
  t.regex(text, /^An earlier first start was interrupted: it created no log\. Its secrets are in /);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.regex(readFileSync(file, "utf8"), /a-password[^]*lg_a-key[^]*An earlier[^]*lg_a-key/);
});

test("a folder that cannot be written stops the first start, with what to do", async (t) => {
  const folder = join(temporaryFolder(t), "file");
  writeFileSync(folder, "");
  const options = { given: NONE, isResumed: false, isTerminal: false, folder };
  const error = await t.throwsAsync(showSecrets(FIRST, options), { instanceOf: StartError });
  t.regex(error.message, /can't be written to .*first-start\.txt: .*set LOGGIA_ADMIN and LOGGIA_LOG/);
  const given = { password: true, apiKey: true };
  t.regex(await showSecrets(FIRST, { ...options, given }), /as given by LOGGIA_ADMIN/);
});
