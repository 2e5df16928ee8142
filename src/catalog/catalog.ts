import type { Authenticate } from "../auth/passwords/authenticator.ts";
import type { Requester } from "../auth/passwords/fair-queue.ts";
import type { Account, KeyGrant, LogRole, Scope } from "../auth/principals.ts";
import type { SessionTickets } from "../auth/sessions/session-tickets.ts";
import type { Sessions } from "../auth/sessions/sessions.ts";
import type { StartTicket } from "../auth/sessions/start-ticket.ts";
import type { LogKey, UserId } from "../events/event.ts";

/**
 * The catalog port: accounts, logs, shares, API keys, class filters and each user's options for
 * them.
 *
 * Every process holds the whole catalog in memory, so reads are plain function calls on hot paths.
 * Changes made by this process are visible at once, those of other processes within
 * `CATALOG_POLL_MS`. `createCatalog` (`create.ts`) implements it on a document store:
 * `documents/sqlite.ts` (embedded) or `documents/elasticsearch.ts` (cluster).
 */
export type Catalog = AsyncDisposable &
  Sessions &
  SessionTickets &
  StartTicket & {
    authenticate: Authenticate;

    // Accounts
    account(email: string): Account | null;
    accountById(id: UserId): Account | null;
    accounts(): readonly Account[];
    /** @throws LoggiaError `bad_parameter` (malformed e-mail or password), `account_exists` */
    createAccount(
      account: { email: string; password: string; admin: boolean },
      requester?: Requester,
    ): Promise<Account>;
    /** @throws LoggiaError `bad_parameter`, `account_not_found` */
    setPassword(email: string, password: string, requester?: Requester): Promise<void>;
    /** Opaque value that changes with the account's password; null if there is no such account. */
    passwordMark(id: UserId): string | null;
    /** Makes an account a service admin. @throws LoggiaError `account_not_found` */
    makeAdmin(email: string): Promise<void>;
    /**
     * Removes the account, its shares and its options.
     * @throws LoggiaError `account_not_found`; `conflict` if a log would lose its last admin
     */
    deleteAccount(email: string): Promise<void>;

    // Logs
    log(key: LogKey): Log | null;
    logs(): readonly Log[];
    /** Logs shared with an account, sorted by key. Service admins get no additional logs. */
    logsOf(user: UserId): readonly Log[];
    roleOf(user: UserId, log: LogKey): LogRole | null;
    /**
     * Returns the account that created a log; null if there is no such log. It remains the owner
     * after its share or the account is removed. An in-memory look-up. Limits per user apply to the
     * owner, also for requests with an API key.
     */
    ownerOf(log: LogKey): UserId | null;
    /**
     * Creates a log with plan `development` and one read-write API key. Its creator becomes its
     * admin. The key's secret is returned only here.
     * @param apiKey secret chosen by the operator instead of a generated one: 8 to 200 printable
     * ASCII characters. It should be as hard to guess, as only an unsalted SHA-256 is stored
     * @throws LoggiaError `bad_parameter`, `log_exists`, `account_not_found` (the owner); `conflict`
     * if the secret is in use
     */
    createLog(log: {
      key: LogKey;
      display: string;
      owner: UserId;
      apiKey?: string;
    }): Promise<{ log: Log; apiKey: NewApiKey }>;
    /** @throws LoggiaError `bad_parameter`, `log_not_found` */
    updateLog(key: LogKey, change: LogSettings): Promise<Log>;
    /** Whether any log accepts posts from pages of this origin. An in-memory look-up. */
    namesOrigin(origin: string): boolean;
    /**
     * @throws LoggiaError `account_not_found`, `log_not_found`; `conflict` if the log would lose its
     * last admin, or has 1,000 shares
     */
    share(log: LogKey, email: string, role: LogRole): Promise<void>;
    /** @throws LoggiaError `share_not_found`, `conflict` if the log would lose its last admin */
    unshare(log: LogKey, email: string): Promise<void>;

    // API keys
    /**
     * Returns the grant of a secret, or null if no log has it. An unknown secret triggers a read of
     * other processes' changes, at most a few times a second for all callers together.
     * @throws LoggiaError `store_unavailable` if it is unknown and the catalog holds no accounts
     */
    apiKey(secret: string): Promise<KeyGrant | null>;
    /**
     * Like {@link Catalog.apiKey}, from memory only: null may mean "not seen yet". For the hot path,
     * which then falls back to {@link Catalog.apiKey}.
     */
    cachedApiKey(secret: string): KeyGrant | null;
    /** @throws LoggiaError `bad_parameter`, `log_not_found`; `conflict` if the log has 200 keys */
    createApiKey(log: LogKey, scope: Scope): Promise<NewApiKey>;
    /** @throws LoggiaError `api_key_not_found` */
    setApiKeyDisabled(log: LogKey, id: string, disabled: boolean): Promise<ApiKey>;
    /** @throws LoggiaError `api_key_not_found` */
    deleteApiKey(log: LogKey, id: string): Promise<void>;

    // Class filters and options
    /** Sorted by key. The same array until it changes, so callers can key caches by it. */
    classFilters(log: LogKey): readonly ClassFilter[];
    /**
     * @throws LoggiaError `bad_parameter` (names the field and its limit), `class_filter_exists`,
     * `log_not_found`; `conflict` if the log has 10,000
     */
    createClassFilter(log: LogKey, filter: ClassFilter): Promise<ClassFilter>;
    /** @throws LoggiaError `bad_parameter`, `class_filter_not_found` */
    updateClassFilter(log: LogKey, key: string, filter: Omit<ClassFilter, "key">): Promise<ClassFilter>;
    /** Also removes all users' options for it. @throws LoggiaError `class_filter_not_found` */
    deleteClassFilter(log: LogKey, key: string): Promise<void>;
    classOptions(user: UserId, log: LogKey, classKey: string): ClassOptions;
    /** @throws LoggiaError `class_filter_not_found` */
    setClassOptions(user: UserId, log: LogKey, classKey: string, options: ClassOptions): Promise<ClassOptions>;
    /** Users who want alerts (or mail) for a class and still have access to the log, sorted by id. */
    subscribers(log: LogKey, classKey: string, option: "alert" | "notify"): readonly UserId[];

    // Saved queries
    /**
     * Saved queries visible to a user: their own and those shared by other members, sorted by name,
     * then owner. `user` is null for a caller without an account, who sees only shared ones.
     */
    savedQueries(log: LogKey, user: UserId | null): readonly OwnedQuery[];
    /** Returns the query of this name, ignoring case: the user's own, else the oldest shared one. */
    savedQuery(log: LogKey, user: UserId | null, name: string): OwnedQuery | null;
    /**
     * Saves a query. Its name is unique among the user's own, and if shared, among the shared ones of
     * the log as far as this process knows.
     * @throws LoggiaError `bad_parameter` (names the field and its limit), `saved_query_exists`;
     * `conflict` if the user has saved 100 for the log
     */
    saveQuery(log: LogKey, user: UserId, query: Omit<SavedQuery, "created">): Promise<SavedQuery>;
    /**
     * Changes one of the user's own queries, and renames it if a name is given.
     * @throws LoggiaError `bad_parameter`, `saved_query_not_found`, `saved_query_exists`
     */
    updateSavedQuery(
      log: LogKey,
      user: UserId,
      name: string,
      change: Omit<SavedQuery, "name" | "created"> & { readonly name?: string | undefined },
    ): Promise<SavedQuery>;
    /** Removes one of the user's own. @throws LoggiaError `saved_query_not_found` */
    deleteSavedQuery(log: LogKey, user: UserId, name: string): Promise<void>;

    // Hooks
    /** Hooks of a log sorted by name, without their secrets. */
    hooks(log: LogKey): readonly Hook[];
    /**
     * Returns a hook with its secret, to verify requests; null if there is none. An unknown one
     * triggers a read of other processes' changes, at most a few times a second.
     * @param name in any case
     */
    receivingHook(log: LogKey, name: string): Promise<ReceivingHook | null>;
    /** Like {@link Catalog.receivingHook}, but reads those changes in any case. */
    refreshedHook(log: LogKey, name: string): Promise<ReceivingHook | null>;
    /** Like {@link Catalog.receivingHook}, from memory only: null may mean "not seen yet". */
    cachedHook(log: LogKey, name: string): ReceivingHook | null;
    /**
     * Creates a hook. With a signature and no secret, a secret is generated and returned only here.
     * @throws LoggiaError `bad_parameter` (names the field and the error's position in a template),
     * `hook_exists`, `log_not_found`; `conflict` if the log has 50
     */
    createHook(log: LogKey, hook: GivenHook & Pick<Hook, "name">): Promise<NewHook>;
    /**
     * Replaces all settings except the name. The stored secret stays if none is given, is replaced by
     * a generated one for null, and is removed if there is no signature.
     * @throws LoggiaError `bad_parameter`, `hook_not_found`
     */
    updateHook(log: LogKey, name: string, hook: GivenHook): Promise<NewHook>;
    /** @throws LoggiaError `hook_not_found` */
    deleteHook(log: LogKey, name: string): Promise<void>;

    /**
     * Runs `work` if there is no account yet or an earlier first start was interrupted (`isResumed`).
     * One process runs it; the others wait until it ends, and take over from a process that has not
     * finished within `takeOver_ms`.
     * @returns the result of `work`; null if no first start is due
     */
    firstStart<T>(
      work: (start: { readonly isResumed: boolean }) => Promise<T>,
      options: { readonly takeOver_ms: number },
    ): Promise<T | null>;

    /** Reads the changes of other processes now. */
    refresh(): Promise<void>;
    /** @throws LoggiaError `store_unavailable`, which names the engine that could not be reached */
    ping(): Promise<void>;
  };

/** Interval at which each process polls for changes of other processes, in milliseconds. */
export const CATALOG_POLL_MS = 1000;

export type Log = {
  readonly key: LogKey;
  readonly display: string;
  readonly plan: "development";
  /** null: events are kept forever. */
  readonly retentionDays: number | null;
  /** Origins whose pages may post from a browser, in the form browsers send; `*`: any. */
  readonly origins: readonly string[];
  readonly shares: readonly { readonly user: UserId; readonly role: LogRole }[];
  readonly apiKeys: readonly ApiKey[];
};

/** Settings of a log that its admins can change. */
export type LogSettings = {
  readonly display?: string;
  readonly retentionDays?: number | null;
  readonly origins?: readonly string[];
};

/** An API key without its secret. The catalog stores only the secret's SHA-256. */
export type ApiKey = {
  readonly id: string;
  readonly scope: Scope;
  readonly disabled: boolean;
  readonly created: number;
};

export type NewApiKey = ApiKey & { readonly secret: string };

/** A class filter. It matches if every non-empty one of `tag`, `text`, `link`, `source` matches. */
export type ClassFilter = {
  /** `[a-z0-9][a-z0-9-]{0,62}`, lower case. */
  readonly key: string;
  readonly display: string;
  readonly color: string;
  readonly tag: string;
  readonly text: string;
  readonly link: string;
  readonly source: string;
  /** Integer. The matching filter with the highest weight wins; ties go to the smaller key. */
  readonly weight: number;
};

export type ClassOptions = { readonly alert: boolean; readonly notify: boolean; readonly hide: boolean };

/** A named LQL query. */
export type SavedQuery = {
  /** 1 to 100 characters without control characters; leading and trailing spaces are removed. */
  readonly name: string;
  /** LQL. The catalog does not parse it. */
  readonly query: string;
  /** As the query parameter `tz`; "" is UTC. */
  readonly tz: string;
  /** Whether everyone who may read the log may run it. */
  readonly shared: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly created: number;
};

/** The service whose requests a hook accepts, which decides how they are interpreted. */
export type HookKind = "github" | "alertmanager" | "sentry" | "json";

/** Signature scheme of a hook's requests. `none`: requests carry an API key instead. */
export type HookSignature = "none" | "github" | "standard" | "sentry" | "grafana" | "gitlab";

export type HookSettings = {
  readonly kind: HookKind;
  readonly signature: HookSignature;
  /** Maps a body to events, see `hook-template.ts`; null: the default mapping of its kind. */
  readonly template: Readonly<Record<string, unknown>> | null;
};

/** Hook settings as given. Absent ones are derived from the others. `secret`: null generates one. */
export type GivenHook = {
  readonly [F in keyof HookSettings | "secret"]?: (HookSettings & { readonly secret: string | null })[F] | undefined;
};

/** A webhook that other services post to. `name`: `[a-z0-9][a-z0-9-]{0,62}`. */
export type Hook = HookSettings & { readonly name: string; readonly created: number };

/** `secret`: the secret if it was just generated, else null. */
export type NewHook = Hook & { readonly secret: string | null };

/** `secret`: absent if requests are not signed. */
export type ReceivingHook = Hook & { readonly secret?: string };

export type OwnedQuery = SavedQuery & { readonly owner: UserId };

/** Limits on the logs of one account: how many it may own, and what they may hold in total. */
export type AccountLimits = {
  readonly logs: number;
  readonly apiKeys: number;
  readonly classFilters: number;
  readonly shares: number;
};
