/**
 * The mail port: one plain-text message to one person. Adapter: `smtp.ts`.
 */
export type Mailer = {
  /**
   * Hands a mail to the mail server. Takes at most `deadline_ms` and never rejects: failures are
   * outcomes too.
   */
  send(mail: Mail): Promise<MailOutcome>;
  readonly deadline_ms: number;
};

export type Mail = {
  /** An account's e-mail address. */
  readonly to: string;
  /** One line; line breaks and other control characters in it become blanks. */
  readonly subject: string;
  readonly text: string;
  /** Identifies the mail, with the same value in every attempt: its Message-ID derives from it. */
  readonly name: string;
  /** Milliseconds since the Unix epoch. */
  readonly date_ms: number;
};

export type MailOutcome =
  /** The mail server accepted the mail. */
  | { readonly kind: "sent" }
  /** The server rejected the mail or its recipient permanently. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The server rejected this mail temporarily, and may accept others. */
  | { readonly kind: "deferred"; readonly reason: string }
  /** The server is unreachable or refuses this client. The mail was not sent. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The mail was handed over without a reply: it may have been sent or not. */
  | { readonly kind: "unknown"; readonly reason: string };
