import type { LoggiaOptions } from "./pino.d.mts";

/** Queue of lines for the service. */
export class Outbox {
  static open(options: LoggiaOptions): Promise<Outbox>;
  add(line: string): void;
  close(): Promise<void>;
}
