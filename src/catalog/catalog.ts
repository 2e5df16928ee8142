import type { LogKey, UserId } from "../events/event.ts";

/**
 * The catalog port: accounts, logs, shares, API keys, class filters and each person's options for
 * them.
 *
 * Every process holds all of it in memory, so that reads are plain calls: the hot paths ask it for
 * each request. Changes by this process show at once, changes by others within `CATALOG_POLL_MS`.
 * `createCatalog` of `create.ts` makes it on a small document store with optimistic concurrency,
 * whose adapters are `documents/sqlite.ts` (embedded) and `documents/elasticsearch.ts` (cluster).
 */
export type Catalog = AsyncDisposable & {
  // Accounts
  account(email: string): Account | null;
  accountById(id: UserId): Account | null;
  accounts(): readonly Account[];
  /** @throws LoggiaError `bad_parameter` (e-mail or password of the wrong form), `account_exists` */
  createAccount(account: { email: string; password: string; admin: boolean }, asker?: Asker): Promise<Account>;
  /** @throws LoggiaError `bad_parameter`, `account_not_found` */
  setPassword(email: string, password: string, asker?: Asker): Promise<void>;
  /** Changes with the account's password, and is opaque; null where there is no such account. */
  passwordMark(id: UserId): string | null;
  /** Makes an account a service admin. @throws LoggiaError `account_not_found` */
  makeAdmin(email: string): Promise<void>;
  /**
   * Removes the account, its shares and its options. @throws LoggiaError `account_not_found`;
   * `conflict` where a log would lose its last admin
   */
  deleteAccount(email: string): Promise<void>;
  /**
   * The account, where the pair is right. Costs the same for unknown e-mails; slow hashing is
   * bounded and verified pairs are cached.
   * @throws LoggiaError `overloaded` where too many pairs wait to be checked; whatever {@link
   *   Asker.recheck} throws
   */
  authenticate(email: string, password: string, attempt?: Attempt): Promise<Account | null>;

  // Logs
  log(key: LogKey): Log | null;
  logs(): readonly Log[];
  /** The logs shared with an account, by key. A service admin sees no more than others. */
  logsOf(user: UserId): readonly Log[];
  roleOf(user: UserId, log: LogKey): Role | null;
  /**
   * The account that created a log; null where there is no such log. It stays the owner after its
   * share or the account is removed. A plain look-up: what is bounded by person goes by it, API
   * keys included.
   */
  ownerOf(log: LogKey): UserId | null;
  /**
   * The creator becomes its admin; plan `development`; one read-write API key, whose secret is
   * returned this once.
   * @param apiKey a secret of the operator's choice instead of a drawn one: 8 to 200 printable
   * ASCII characters. Only its plain SHA-256 is kept, so it should be as hard to guess as a drawn
   * one
   * @throws LoggiaError `bad_parameter`, `log_exists`, `account_not_found` (the owner); `conflict`
   * where the secret is in use
   */
  createLog(log: {
    key: LogKey;
    display: string;
    owner: UserId;
    apiKey?: string;
  }): Promise<{ log: Log; apiKey: NewApiKey }>;
  /** @throws LoggiaError `bad_parameter`, `log_not_found` */
  updateLog(key: LogKey, change: LogSettings): Promise<Log>;
  /** Whether any log lets pages of this origin post. A plain look-up. */
  namesOrigin(origin: string): boolean;
  /**
   * @throws LoggiaError `account_not_found`, `log_not_found`; `conflict` where the log would lose
   * its last admin, or has 1,000 shares
   */
  share(log: LogKey, email: string, role: Role): Promise<void>;
  /** @throws LoggiaError `share_not_found`, `conflict` where the log would lose its last admin */
  unshare(log: LogKey, email: string): Promise<void>;

  // API keys
  /**
   * What a secret opens, or null where no log knows it. An unknown one is first looked for in
   * changes by other processes (at most a few times a second, however many wrong keys come).
   * @throws LoggiaError `store_unavailable` where it is unknown and there are no accounts at all
   */
  apiKey(secret: string): Promise<KeyGrant | null>;
  /**
   * The same from memory alone: null may mean "not yet seen". For the hot path, which falls back to
   * {@link Catalog.apiKey}.
   */
  knownApiKey(secret: string): KeyGrant | null;
  /** @throws LoggiaError `bad_parameter`, `log_not_found`; `conflict` where the log has 200 keys */
  createApiKey(log: LogKey, scope: Scope): Promise<NewApiKey>;
  /** @throws LoggiaError `api_key_not_found` */
  setApiKeyDisabled(log: LogKey, id: string, disabled: boolean): Promise<ApiKey>;
  /** @throws LoggiaError `api_key_not_found` */
  deleteApiKey(log: LogKey, id: string): Promise<void>;

  // Class filters and options
  /** Of a log, by key. The same array until it changes, so that a compiled matcher can be kept beside it. */
  classFilters(log: LogKey): readonly ClassFilter[];
  /**
   * @throws LoggiaError `bad_parameter` (naming the field and its limit), `class_filter_exists`,
   * `log_not_found`; `conflict` where the log has 10,000
   */
  createClassFilter(log: LogKey, filter: ClassFilter): Promise<ClassFilter>;
  /** @throws LoggiaError `bad_parameter`, `class_filter_not_found` */
  updateClassFilter(log: LogKey, key: string, filter: Omit<ClassFilter, "key">): Promise<ClassFilter>;
  /** Removes everybody's options for it too. @throws LoggiaError `class_filter_not_found` */
  deleteClassFilter(log: LogKey, key: string): Promise<void>;
  classOptions(user: UserId, log: LogKey, classKey: string): ClassOptions;
  /** @throws LoggiaError `class_filter_not_found` */
  setClassOptions(user: UserId, log: LogKey, classKey: string, options: ClassOptions): Promise<ClassOptions>;
  /** Who wants alerts (or mail) for a class of a log, and still has access to the log. Sorted by id. */
  subscribers(log: LogKey, classKey: string, option: "alert" | "notify"): readonly UserId[];

  // Saved queries
  /**
   * The queries of a log that a person may ask: their own and those that other members share, by
   * name, then by owner. `user` is null for a caller without an account, who sees the shared ones.
   */
  savedQueries(log: LogKey, user: UserId | null): readonly OwnedQuery[];
  /**
   * The query of this name (case is ignored): one's own first, then the shared one that was saved
   * first.
   */
  savedQuery(log: LogKey, user: UserId | null, name: string): OwnedQuery | null;
  /**
   * The name is unique among one's own, and a shared one among the shared ones of the log as far as
   * this process knows.
   * @throws LoggiaError `bad_parameter` (naming the field and its limit), `saved_query_exists`;
   *   `conflict` where the person has saved 100 for the log
   */
  saveQuery(log: LogKey, user: UserId, query: Omit<SavedQuery, "created">): Promise<SavedQuery>;
  /**
   * Changes a saved query of the user's own, its name too where one is given.
   * @throws LoggiaError `bad_parameter`, `saved_query_not_found`, `saved_query_exists`
   */
  updateSavedQuery(
    log: LogKey,
    user: UserId,
    name: string,
    change: Omit<SavedQuery, "name" | "created"> & { readonly name?: string | undefined },
  ): Promise<SavedQuery>;
  /** Removes one's own. @throws LoggiaError `saved_query_not_found` */
  deleteSavedQuery(log: LogKey, user: UserId, name: string): Promise<void>;

  // Hooks
  /** Of a log, by name, without their secrets. */
  hooks(log: LogKey): readonly Hook[];
  /**
   * A hook with all that a request to it is judged by; null where there is none. An unknown one is
   * first looked for in changes by other processes, at most a few times a second.
   * @param name in any case
   */
  receivingHook(log: LogKey, name: string): Promise<ReceivingHook | null>;
  /** The same from memory alone: null may mean "not yet seen". */
  knownHook(log: LogKey, name: string): ReceivingHook | null;
  /**
   * With a signature and no secret, one is drawn: it is shown this once.
   * @throws LoggiaError `bad_parameter` (naming the field, and where a template is wrong),
   *   `hook_exists`, `log_not_found`; `conflict` where the log has 50
   */
  createHook(log: LogKey, hook: GivenHook & Pick<Hook, "name">): Promise<NewHook>;
  /**
   * Puts all but the name anew. The secret stays where none is given, and is gone without a
   * signature.
   * @throws LoggiaError `bad_parameter`, `hook_not_found`
   */
  updateHook(log: LogKey, name: string, hook: GivenHook): Promise<NewHook>;
  /** @throws LoggiaError `hook_not_found` */
  deleteHook(log: LogKey, name: string): Promise<void>;

  // Sessions
  /**
   * Begins a session of an account, which ends with the password whose mark is given. The oldest of
   * 100 sessions of an account ends for a new one.
   * @param session.password {@link Catalog.passwordMark} from before the password was checked
   * @returns the session, and its secret this once
   * @throws LoggiaError `unauthorized` where the password was changed meanwhile
   */
  createSession(session: {
    account: Account;
    password: string;
    address: string;
    agent: string;
  }): Promise<{ secret: string; session: Session }>;
  /**
   * The session with this secret; null where there is none, or it is over. An unknown one is first
   * looked for in changes by other processes, at most a few times a second.
   */
  session(secret: string): Promise<{ readonly account: Account; readonly session: Session } | null>;
  /** Whether a session is there and not over, as far as this process knows. */
  hasSession(session: Pick<Session, "id" | "user">): boolean;
  /** Notes that a session was used. Stored now and then, in the background. */
  useSession(session: Session): void;
  /** The sessions of an account that are not over, the oldest first. */
  sessionsOf(user: UserId): readonly Session[];
  /** False where the account has no such session. */
  endSession(user: UserId, id: string): Promise<boolean>;
  /** Removes what is stored of sessions that are over. @returns how many */
  removeEndedSessions(): Promise<number>;
  /**
   * A ticket that stands for the session's cookie in one GET of this path, within 60 s.
   * @throws LoggiaError `unauthorized` where the session has ended
   */
  createTicket(session: Pick<Session, "id" | "user">, path: string): Promise<string>;
  /**
   * Uses a ticket up. Null where it is unknown, used, over, for another path or of another person.
   * @param user the only account whose ticket counts; null: any
   */
  useTicket(
    ticket: string,
    path: string,
    user: UserId | null,
  ): Promise<{ readonly account: Account; readonly session: Session } | null>;
  /**
   * A ticket that signs an account in, in place of all before it: once, within ten minutes. Null
   * where there is no such account.
   */
  createStartTicket(user: UserId): Promise<string | null>;
  /** Uses such a ticket up. Null where it is unknown, used or over. */
  useStartTicket(ticket: string): Promise<Account | null>;

  /**
   * Runs `work` where there is no account yet, or an earlier first start was cut off (`isResumed`):
   * in one process at a time. The others wait until it has ended; they take over where it gives no
   * result for `takeOver_ms`.
   * @returns what `work` returned; null where no first start is due
   */
  firstStart<T>(
    work: (start: { readonly isResumed: boolean }) => Promise<T>,
    options: { readonly takeOver_ms: number },
  ): Promise<T | null>;

  /** Takes in what other processes changed, now. */
  refresh(): Promise<void>;
  /** @throws LoggiaError `store_unavailable` that says which engine could not be reached. */
  ping(): Promise<void>;
};

/** How often each process looks for changes made by others. */
export const CATALOG_POLL_MS = 1000;

/** For whom a password is hashed. Slow hashes are shared fairly among addresses and accounts. */
export type Asker = {
  /** Where the request comes from: the network that counts as one stranger. */
  readonly address: string;
  /** The account that the request names, as a value that is the same for all its requests. */
  readonly account: string;
  /** Whether this account was right at this address lately. */
  readonly isKnown: boolean;
  /**
   * How many guesses count against this address: of strangers, those with the fewest go first.
   * Default: 0
   */
  readonly guesses?: number;
  /** Whether there is such an account. No answer to a stranger may depend on it. Default: false */
  readonly exists?: boolean;
  /** How many strangers' guesses count against the account. Default: 0 */
  readonly failures?: number;
  /** Called as the turn comes. Throws where the asker has used up its guesses while it waited. */
  readonly recheck?: () => void;
};

/** A check of a pair of e-mail and password, as the one who tries it sees it. */
export type Attempt = Omit<Asker, "account" | "exists"> & {
  /** Called where the pair was right until the password changed, while it was checked. */
  readonly outdated?: () => void;
};

export type Account = {
  readonly id: UserId;
  /** As given; unique without regard to case. */
  readonly email: string;
  /** Service admin: may manage accounts. Gives no right on logs. */
  readonly admin: boolean;
};

export type Role = "admin" | "user";

export type Log = {
  readonly key: LogKey;
  readonly display: string;
  readonly plan: "development";
  /** null: kept for ever. */
  readonly retentionDays: number | null;
  /** Origins of pages that may post to it from a browser, as browsers send them; `*`: any. */
  readonly origins: readonly string[];
  readonly shares: readonly { readonly user: UserId; readonly role: Role }[];
  readonly apiKeys: readonly ApiKey[];
};

/** What of a log its admins set. */
export type LogSettings = {
  readonly display?: string;
  readonly retentionDays?: number | null;
  readonly origins?: readonly string[];
};

export type Scope = "read-write" | "read-only" | "write-only";

/** An API key without its secret: of that, only a SHA-256 is kept, inside the catalog. */
export type ApiKey = {
  readonly id: string;
  readonly scope: Scope;
  readonly disabled: boolean;
  readonly created: number;
};

export type NewApiKey = ApiKey & { readonly secret: string };

export type KeyGrant = { readonly log: LogKey; readonly id: string; readonly scope: Scope; readonly disabled: boolean };

/** An event is of this class when every non-empty condition of `tag`, `text`, `link`, `source` holds. */
export type ClassFilter = {
  /** `[a-z0-9][a-z0-9-]{0,62}`, in lower case. */
  readonly key: string;
  readonly display: string;
  readonly color: string;
  readonly tag: string;
  readonly text: string;
  readonly link: string;
  readonly source: string;
  /** Whole number; the matching filter of highest weight gives the class, ties go to the smaller key. */
  readonly weight: number;
};

export type ClassOptions = { readonly alert: boolean; readonly notify: boolean; readonly hide: boolean };

/** A query in LQL under a name. */
export type SavedQuery = {
  /** 1 to 100 characters, without control characters; blanks at its ends are removed. */
  readonly name: string;
  /** LQL. The catalog does not parse it. */
  readonly query: string;
  /** As the parameter `tz` of a query; "" is UTC. */
  readonly tz: string;
  /** Whether all who may read the log may ask it. */
  readonly shared: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly created: number;
};

/** Whose requests a hook takes, by which it knows what they mean. */
export type HookKind = "github" | "alertmanager" | "sentry" | "json";

/** How the requests of a hook are signed. `none`: an API key stands in for it. */
export type HookSignature = "none" | "github" | "standard" | "sentry" | "grafana" | "gitlab";

export type HookSettings = {
  readonly kind: HookKind;
  readonly signature: HookSignature;
  /** What becomes of a body, as `hook-template.ts` reads it; null: what its kind makes of it. */
  readonly template: Readonly<Record<string, unknown>> | null;
};

/** Settings that are absent follow from the others. */
export type GivenHook = { readonly [F in keyof HookSettings | "secret"]?: (HookSettings & Secret)[F] | undefined };
type Secret = { readonly secret: string };

/** Where another service posts in its own form. `name`: `[a-z0-9][a-z0-9-]{0,62}`. */
export type Hook = HookSettings & { readonly name: string; readonly created: number };

/** `secret`: one that was drawn just now; null where none was. */
export type NewHook = Hook & { readonly secret: string | null };

/** `secret`: absent where nothing is signed. */
export type ReceivingHook = Hook & Partial<Secret>;

export type OwnedQuery = SavedQuery & { readonly owner: UserId };

/** Moments are milliseconds since the Unix epoch, by the time that is believed. */
export type Session = {
  /** Not the secret. */
  readonly id: string;
  readonly user: UserId;
  readonly created: number;
  /** When it was last used. */
  readonly seen: number;
  /** When it ends where it is not used any more. */
  readonly expires: number;
  /** Where it began. */
  readonly address: string;
  /** `User-Agent` of who began it, cut to 200 characters. */
  readonly agent: string;
};

/** How much the logs that one account owns may hold together, and how many they may be. */
export type AccountLimits = {
  readonly logs: number;
  readonly apiKeys: number;
  readonly classFilters: number;
  readonly shares: number;
};
