/**
 * The mail port: one plain-text message to one person. Adapter: `smtp.ts`.
 */
export type Mailer = {
  /**
   * Hands a mail to the mail server. Takes at most `deadline_ms`, and never rejects: every way that
   * it can go is an outcome.
   */
  send(mail: Mail): Promise<MailOutcome>;
  readonly deadline_ms: number;
};

export type Mail = {
  /** An e-mail address, as an account has it. */
  readonly to: string;
  /** One line; line breaks and other control characters in it become blanks. */
  readonly subject: string;
  readonly text: string;
  /** Words that name this very mail, the same however often it is tried: they become its Message-ID. */
  readonly name: string;
  /** Milliseconds since the Unix epoch. */
  readonly date_ms: number;
};

export type MailOutcome =
  /** The mail server has taken it. */
  | { readonly kind: "sent" }
  /** The server will never take this mail, or not for this person. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The server does not take this mail now, and may take others. */
  | { readonly kind: "deferred"; readonly reason: string }
  /** The server cannot be used at all: away, or not willing to serve us. The mail did not go out. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** The mail was handed over, and no answer came: it may have gone out or not. */
  | { readonly kind: "unknown"; readonly reason: string };
