import type { Logger } from "pino";

/** What was wrong. */
export type Wrong = "password" | "key";

/** Lines a minute; the others are counted. */
const MOST = 10;
const MINUTE_MS = 60_000;

/**
 * Logs each wrong password and API key with the address that sent it, at a bounded rate: guesses
 * must not fill the disk. What was sent is left out, and so is the e-mail, in whose place people
 * type passwords.
 */
export function createFailedSignIns(log: Logger): Disposable & { note(wrong: Wrong, address: string): void } {
  let logged = 0;
  let unlogged = 0;
  let timer: NodeJS.Timeout | null = null;
  const end = (): void => {
    if (unlogged > 0) log.warn({ count: unlogged }, "Authentication failed more often than is logged");
    [logged, unlogged, timer] = [0, 0, null];
  };
  return {
    note(wrong, address) {
      timer ??= setTimeout(end, MINUTE_MS).unref();
      if (logged === MOST) unlogged += 1;
      else {
        logged += 1;
        log.warn({ wrong, address }, "Authentication failed");
      }
    },
    [Symbol.dispose]() {
      if (timer !== null) clearTimeout(timer);
      end();
    },
  };
}
