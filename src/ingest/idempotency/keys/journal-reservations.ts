import { acceptedAt } from "../../../events/id.ts";
import type { Attempt, KeyReservation, Reservations, Standing } from "../reservations.ts";
import type { KeyLog } from "./key-log.ts";
import { hashOfName } from "../key-record.ts";

export type JournalReservationsOptions = {
  readonly keyLog: KeyLog;
  /** Time until which a claim has to be on the bus, in milliseconds. */
  readonly claim_ms: number;
  readonly now: () => number;
};

/**
 * Time after the assignment of ids in which their process most likely answers itself. A repeat waits
 * for it, instead of searching the bus.
 */
const ALIVE_MS = 3_000;
const MOST_WAIT_MS = 2_500;

/** Reservations as claims in the journal of keys. */
export class JournalReservations implements Reservations {
  readonly #options: JournalReservationsOptions;

  constructor(options: JournalReservationsOptions) {
    this.#options = options;
  }

  reserve(name: string, reservation: KeyReservation, replaced: string | null): Attempt {
    const { keyLog, claim_ms } = this.#options;
    const hash = hashOfName(name);
    const replaces = replaced === null ? null : Number(replaced);
    let state: "not claimed" | "claimed" | { readonly offset: number } = "not claimed";
    const reserve = async (): Promise<boolean> => {
      const standing = keyLog.standing(hash);
      if (standing !== null && standing !== replaces) return false;
      state = "claimed";
      const verdict = await keyLog.claim({ kind: "claim", hash, replaces, reservation }, claim_ms);
      const isWon = verdict.standing === verdict.offset;
      if (isWon) state = { offset: verdict.offset };
      return isWon;
    };
    const markDone = (): void => {
      if (typeof state === "object") keyLog.settle("done", state.offset);
    };
    const free = (): void => {
      if (state === "not claimed") return;
      // Kafka's client may append a claim twice, the second time after the outcome of the first.
      keyLog.abandon(reservation.first);
      if (typeof state === "object") keyLog.settle("void", state.offset);
    };
    return { isReserved: reserve(), markDone, free };
  }

  async find(name: string): Promise<Standing | null> {
    const { keyLog, now } = this.#options;
    const hash = hashOfName(name);
    const offset = keyLog.standing(hash);
    if (offset === null) return null;
    const version = String(offset);
    const markDone = (): void => keyLog.settle("done", offset);
    const claim = await keyLog.read(offset, hash);
    if (claim === null) return { reservation: null, version, markDone };
    const alive_ms = acceptedAt(claim.reservation.first) + ALIVE_MS - now();
    const outcome = await keyLog.outcome(offset, Math.min(alive_ms, MOST_WAIT_MS));
    if (outcome === "void") return null;
    return { reservation: { ...claim.reservation, done: outcome === "done" }, version, markDone };
  }
}
