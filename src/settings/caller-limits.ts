import type { Setting } from "./setting.ts";
import { wholeNumber } from "./values.ts";

const readRate = wholeNumber(1, 1_000_000);
const readQuota = wholeNumber(1, 10_000_000);
/** Creating a log also creates a key and a share, so with a limit of 0 for those it would fail. */
const readQuotaOrNone = wholeNumber(0, 10_000_000);

/** Limits of requests and their answers, by the names of `Rates`. */
// prettier-ignore
export const RATE_SETTINGS = {
  address: { name: "LOGGIA_RATE_ADDRESS", standard: "100000", help: "requests a second from one address; more get 429", read: readRate },
  caller: { name: "LOGGIA_RATE_CALLER", standard: "100000", help: "requests a second by one person, with all keys of their logs", read: readRate },
  failures: { name: "LOGGIA_RATE_FAILURES", standard: "20", help: "wrong passwords and keys a minute from one address", read: readRate },
  queries: { name: "LOGGIA_RATE_QUERIES", standard: "8", help: "queries at a time by one person, with all keys of their logs; more wait, then get 429", read: readRate },
  queriesTotal: { name: "LOGGIA_RATE_QUERIES_ALL", standard: "32", help: "queries at a time by all; more wait, then get 503", read: readRate },
  answers_mb: { name: "LOGGIA_ANSWERS_MB", standard: "256", help: "memory of all API responses at a time; one person gets half of it", read: readRate },
} as const satisfies Readonly<Record<string, Setting<number>>>;

/** Limits of what an account may own, by the names of `AccountLimits`. */
// prettier-ignore
export const ACCOUNT_SETTINGS = {
  logs: { name: "LOGGIA_LOGS_PER_ACCOUNT", standard: "20", help: "logs that an account may own; 0: only service admins create logs", read: readQuotaOrNone },
  apiKeys: { name: "LOGGIA_API_KEYS_PER_ACCOUNT", standard: "400", help: "API keys of all logs that an account owns", read: readQuota },
  classFilters: { name: "LOGGIA_CLASS_FILTERS_PER_ACCOUNT", standard: "20000", help: "class filters of all logs that an account owns", read: readQuotaOrNone },
  shares: { name: "LOGGIA_SHARES_PER_ACCOUNT", standard: "2000", help: "shares of all logs that an account owns", read: readQuota },
} as const satisfies Readonly<Record<string, Setting<number>>>;
