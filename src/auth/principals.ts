import type { LogKey, UserId } from "../events/event.ts";

export type Account = {
  readonly id: UserId;
  /** As entered; unique regardless of case. */
  readonly email: string;
  /** Service admin: may manage accounts. Grants no access to logs. */
  readonly admin: boolean;
};

/** What an account may do with a log that is shared with it. */
export type LogRole = "admin" | "user";

/** What an API key may do with its log. */
export type Scope = "read-write" | "read-only" | "write-only";

/** What an API key grants to those who know its secret. */
export type KeyGrant = { readonly log: LogKey; readonly id: string; readonly scope: Scope; readonly disabled: boolean };

/** A signed-in session. Times are milliseconds since the Unix epoch, by the trusted clock. */
export type Session = {
  /** Public id; not the secret. */
  readonly id: string;
  readonly user: UserId;
  readonly created: number;
  /** Time of the last use. */
  readonly seen: number;
  /** When the session ends if it is not used again. */
  readonly expires: number;
  /** Address that the session was created from. */
  readonly address: string;
  /** `User-Agent` of the client that created it, cut to 200 characters. */
  readonly agent: string;
};

export type AccountSession = { readonly account: Account; readonly session: Session };
