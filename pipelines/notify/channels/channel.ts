/**
 * A channel: one way to tell people. Each kind is a file of this folder.
 *
 * @template Target where messages go, such as an address
 */
export type Channel<Target> = {
  readonly kind: string;
  /** The fields of a target, as a person fills them in. */
  readonly fields: Readonly<Record<keyof Target, ChannelField>>;
  /** Returns what is wrong with a target, and what would be right; null if nothing is. */
  check(target: Target): string | null;
  /**
   * Sends a message. Takes at most `deadline_ms` and never rejects: failures are outcomes too. A
   * target that fails {@link check} is refused.
   */
  send(message: Message, target: Target): Promise<SendOutcome>;
  readonly deadline_ms: number;
};

/** Target of the channel `email`: the address of one person. */
export type EmailTarget = { readonly to: string };

export type ChannelField = {
  readonly label: string;
  readonly example: string;
  /** Whether it is shown by its last characters only. */
  readonly isSecret: boolean;
};

export type Message = {
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
