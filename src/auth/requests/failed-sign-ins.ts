import type { Logger } from "pino";

/** The kind of a wrong credential. */
export type WrongCredential = "password" | "key";

/** Maximum number of lines a minute. Further failures are only counted. */
const LINES_MAX = 10;
const MINUTE_MS = 60_000;

/**
 * Logs wrong passwords and API keys with the client's address, at a limited rate, so that guesses
 * cannot fill the disk. The credential is not logged, and neither is the e-mail, because people
 * type passwords in its place.
 */
export function createFailedSignIns(log: Logger): Disposable & { note(wrong: WrongCredential, address: string): void } {
  let logged = 0;
  let unlogged = 0;
  let timer: NodeJS.Timeout | null = null;
  const end = (): void => {
    if (unlogged > 0) log.warn({ count: unlogged }, "Further authentication failures were not logged");
    [logged, unlogged, timer] = [0, 0, null];
  };
  return {
    note(wrong, address) {
      timer ??= setTimeout(end, MINUTE_MS).unref();
      if (logged === LINES_MAX) unlogged += 1;
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
