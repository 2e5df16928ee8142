import type { Transform } from "node:stream";

export type LoggiaOptions = {
  /** Base URL of the posting listener, such as http://127.0.0.1:8081. */
  readonly url: string;
  readonly log: string;
  /** API key with permission to post to the log. */
  readonly key: string;
  /** Tags added to every event, separated by blanks. */
  readonly tags?: string;
  /** Folder of the queue. Default: a folder below the user's state folder. */
  readonly folder?: string;
  /** Size limit of the queue, in bytes. Beyond it the oldest lines are dropped. Default: 64 MB. */
  readonly maxBytes?: number;
  /** Longest time a line waits to be sent with others, in milliseconds. Default: 200. */
  readonly interval?: number;
  /** Time for sending the queue when the application exits, in milliseconds. Default: 5,000. */
  readonly exitTimeout?: number;
};

// oxlint-disable-next-line import/no-default-export -- pino calls the default export
export default function loggia(options: LoggiaOptions): Promise<Transform>;
