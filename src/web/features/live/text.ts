import { formatNumber } from "../../parts/text/numbers.ts";
import { PAUSES } from "../../state/live/tail.ts";
import type { TailConnection, Pause } from "../../state/live/tail.ts";

export type LiveState = {
  readonly connection: TailConnection;
  readonly pause: Pause | null;
  /** Events held back by the pause. */
  readonly waiting: number;
  readonly now_ms: number;
  /** Describes a fault. */
  readonly explain: (fault: unknown) => string;
};

export type LiveText = {
  readonly dot: "on" | "paused" | "wait";
  readonly title: string;
  readonly note: string;
};

/** Returns the texts of the tail's bar. */
export function liveText({ connection, pause, waiting, now_ms, explain }: LiveState): LiveText {
  if (connection.kind === "refused") return { dot: "wait", title: "The tail ended", note: explain(connection.fault) };
  if (connection.kind === "waiting") {
    const seconds = Math.max(1, Math.ceil((connection.at_ms - now_ms) / 1_000));
    const held = pause === null ? "" : ` Paused, ${formatNumber(waiting)} new.`;
    const why = connection.fault === null ? "The connection ended." : explain(connection.fault);
    return {
      dot: "wait",
      title: "Connection lost",
      note: `${why} Trying again in ${seconds} s; nothing is lost.${held}`,
    };
  }
  if (pause !== null) {
    const note = `${PAUSES[pause]} Nothing moves until you resume, and nothing is lost.`;
    return { dot: "paused", title: `Paused, ${formatNumber(waiting)} new`, note };
  }
  if (connection.kind === "connecting") return { dot: "wait", title: "Connecting", note: "" };
  return { dot: "on", title: "Live", note: "New events appear as they are stored." };
}
