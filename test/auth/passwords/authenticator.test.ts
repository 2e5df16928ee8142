import test from "ava";

import { createAuthenticator } from "../../../src/auth/passwords/authenticator.ts";
import { foldEmail } from "../../../src/auth/credential-checks.ts";
import { createPasswordHasher } from "../../../src/auth/passwords/password-hasher.ts";
import type { PasswordHasher } from "../../../src/auth/passwords/password-hasher.ts";
import type { UserId } from "../../../src/events/event.ts";

const EMAIL = "ann@example.org";
const PASSWORD = "correct horse";

/** An authenticator over one account, and a count of the slow hashes that it computed. */
async function prepare() {
  const hasher = createPasswordHasher();
  const account = { id: "0".repeat(16) as UserId, email: EMAIL, admin: false };
  let stored: string | null = null;
  let checks = 0;
  const setStored = (password: string | null): void => {
    stored = password;
  };
  const isStored = (email: string): boolean => stored !== null && foldEmail(email) === EMAIL;
  const counting: PasswordHasher = {
    hash: (password) => hasher.hash(password),
    verify: (password, stored, requester) => {
      checks += 1;
      return hasher.verify(password, stored, requester);
    },
  };
  setStored(await hasher.hash(PASSWORD));
  const authenticate = createAuthenticator(
    {
      account: (email) => (isStored(email) ? account : null),
      storedPassword: (email) => (isStored(email) ? stored : null),
    },
    counting,
  );
  return { authenticate, setStored, hasher, checks: () => checks };
}

test("a right and a wrong pair are both remembered", async (t) => {
  const { authenticate, checks } = await prepare();
  t.is((await authenticate(EMAIL, PASSWORD))?.email, EMAIL);
  t.is((await authenticate("ANN@example.org", PASSWORD))?.email, EMAIL);
  t.is(checks(), 1);
  t.is(await authenticate(EMAIL, "wrong horse"), null);
  t.is(await authenticate(EMAIL, "wrong horse"), null);
  t.is(checks(), 2);
  t.is(await authenticate(EMAIL, "other horse"), null);
  t.is(checks(), 3);
});

test("a wrong pair is accepted as soon as it is right", async (t) => {
  const { authenticate, setStored, hasher } = await prepare();
  t.is(await authenticate(EMAIL, "battery staple"), null);
  setStored(await hasher.hash("battery staple"));
  t.not(await authenticate(EMAIL, "battery staple"), null);
});

test("concurrent requests with one pair share one hash", async (t) => {
  const { authenticate, checks } = await prepare();
  const accounts = await Promise.all(Array.from({ length: 200 }, () => authenticate(EMAIL, PASSWORD)));
  t.true(accounts.every((account) => account?.email === EMAIL));
  t.is(checks(), 1);
});

test("a remembered pair ends with its password, whichever process changed it", async (t) => {
  const { authenticate, setStored, hasher } = await prepare();
  t.not(await authenticate(EMAIL, PASSWORD), null);
  setStored(await hasher.hash("battery staple"));
  t.is(await authenticate(EMAIL, PASSWORD), null);
  t.not(await authenticate(EMAIL, "battery staple"), null);
  setStored(null);
  t.is(await authenticate(EMAIL, "battery staple"), null);
});

test("a password that is changed during its verification is refused", async (t) => {
  const { authenticate, setStored, hasher } = await prepare();
  const other = await hasher.hash("battery staple");
  let outdated = 0;
  const attempt = { address: "192.0.2.1", isKnown: true, outdated: () => (outdated += 1) };
  const pending = authenticate(EMAIL, PASSWORD, attempt);
  setStored(other);
  t.is(await pending, null);
  t.is(outdated, 1, "which is no guess");
  t.is(await authenticate(EMAIL, PASSWORD, attempt), null);
  t.is(outdated, 1);
});

test("an unknown address costs as much as a wrong password", async (t) => {
  const { authenticate, checks } = await prepare();
  const time = async (email: string, round: number): Promise<number> => {
    const started = performance.now();
    t.is(await authenticate(email, `wrong horse ${round}`), null);
    return performance.now() - started;
  };
  const unknown: number[] = [];
  const wrong: number[] = [];
  const ratio = (): number => Math.min(...unknown) / Math.min(...wrong);
  const isSimilar = (): boolean => ratio() > 0.5 && ratio() < 2;
  // On a busy machine it may take more rounds until both have run undisturbed.
  for (let round = 0; round < 6 || (round < 60 && !isSimilar()); round++) {
    unknown.push(await time("bob@example.org", round));
    wrong.push(await time(EMAIL, round));
  }
  t.is(checks(), unknown.length + wrong.length, "one slow hash each");
  t.true(isSimilar(), `fastest unknown / fastest wrong = ${ratio()}`);
});

test("an impossible pair costs no hash", async (t) => {
  const { authenticate, checks } = await prepare();
  t.is(await authenticate(EMAIL, "x".repeat(401)), null);
  t.is(await authenticate("not an address", PASSWORD), null);
  t.is(checks(), 0);
});

test("a check that is refused when its turn comes is not remembered", async (t) => {
  const { authenticate } = await prepare();
  const refused = new Error("no more guesses");
  const recheck = () => {
    throw refused;
  };
  await t.throwsAsync(authenticate(EMAIL, PASSWORD, { address: "192.0.2.1", isKnown: false, recheck }), {
    is: refused,
  });
  t.is((await authenticate(EMAIL, PASSWORD, { address: "192.0.2.1", isKnown: false }))?.email, EMAIL);
});
