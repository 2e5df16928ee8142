import type { Account } from "../../../src/auth/principals.ts";
import type { SettingRow } from "../../../src/settings/setting.ts";

/**
 * A channel: one way to tell people. Each kind is a file of this folder and a line of `list.ts`.
 *
 * @template Target where messages go, such as an address
 */
export type Channel<Target> = {
  /** Its file's name, which is also its consumer group, and part of the names of its metrics. */
  readonly kind: string;
  readonly noun: Noun;
  /** The settings that {@link Channel.configure} reads. */
  readonly settings: readonly SettingRow[];
  /**
   * Creates the sender, without connecting; null if the settings leave the channel out.
   * @throws StartError that names the variable and what is allowed
   */
  configure(valueOf: (setting: SettingRow) => string): ChannelSender<Target> | null;
  /** Returns where messages to an account go. */
  targetOf(recipient: Recipient): Target;
  /** Returns what is wrong with a target, and what would be right; null if nothing is. */
  check(target: Target): string | null;
};

/** What a channel calls its messages. */
export type Noun = {
  /** `mail`, as in "the last mail"; with an s, "50 mails". */
  readonly one: string;
  /** `mail`, as in "no more mail". */
  readonly more: string;
};

/** A user to whom a message goes. */
export type Recipient = Pick<Account, "email">;

/** Sends messages as the settings of a channel say. */
export type ChannelSender<Target> = {
  /**
   * Sends a message to a target that {@link Channel.check} accepts. Takes at most `deadline_ms` and
   * never rejects: failures are outcomes too.
   */
  send(message: ChannelMessage, target: Target): Promise<SendOutcome>;
  readonly deadline_ms: number;
  /** Values that never appear in the log, such as passwords. */
  readonly secrets: readonly string[];
};

export type ChannelMessage = {
  /** One line; line breaks and other control characters in it become blanks. */
  readonly subject: string;
  readonly text: string;
  /** Identifies the message, with the same value in every attempt. */
  readonly name: string;
  /** Milliseconds since the Unix epoch. */
  readonly date_ms: number;
};

export type SendOutcome =
  /** The target accepted the message. */
  | { readonly kind: "sent" }
  /** The target rejected the message permanently. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The target rejected this message temporarily, and may accept others. */
  | { readonly kind: "deferred"; readonly reason: string }
  /** The target is unreachable or refuses this client. The message was not sent. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The message was handed over without a reply: it may have been sent or not. */
  | { readonly kind: "unknown"; readonly reason: string };
