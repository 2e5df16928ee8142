/**
 * Loaded into a process before the service: shifts its clock by the milliseconds in the file
 * CHAOS_CLOCK, which is read at the start and at each SIGWINCH. `Date.now` and `new Date()` follow,
 * the only sources of the time of day in the service; timers and `performance.now` are unaffected,
 * as when an operator sets the clock. (SIGUSR2, the usual choice, ends the service.)
 */
import { readFileSync } from "node:fs";

const RealDate = Date;
let offset_ms = readOffset();

class ShiftedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    if (args.length === 0) super(RealDate.now() + offset_ms);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + offset_ms;
  }
}

globalThis.Date = ShiftedDate as unknown as DateConstructor;

process.on("SIGWINCH", () => {
  offset_ms = readOffset();
});

function readOffset(): number {
  return Number(readFileSync(process.env["CHAOS_CLOCK"] ?? "", "utf8"));
}
