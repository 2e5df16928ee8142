import type { Transform } from "node:stream";

export type LoggiaOptions = {
  /** Where events are posted, such as http://127.0.0.1:8081. */
  readonly url: string;
  readonly log: string;
  /** An API key of the log that may post. */
  readonly key: string;
  /** Tags of every event, separated by blanks. */
  readonly tags?: string;
  /** The folder that keeps what the service did not take yet. Default: one below the user's state folder. */
  readonly folder?: string;
  /** How much that may be, in bytes; beyond it the oldest is dropped and counted. Default: 64 MB. */
  readonly maxBytes?: number;
  /** How long a line waits for others, in milliseconds. Default: 200. */
  readonly interval?: number;
  /** How long the end of the application waits for the service, in milliseconds. Default: 5,000. */
  readonly exitTimeout?: number;
};

// oxlint-disable-next-line import/no-default-export -- pino calls the default export
export default function loggia(options: LoggiaOptions): Promise<Transform>;
