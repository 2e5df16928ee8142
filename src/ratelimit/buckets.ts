export type BucketOptions = {
  /** How many tokens a bucket gets in a second. */
  readonly rate_s: number;
  /** How many it holds: so many may be taken at once. */
  readonly burst: number;
  /** At most so many buckets are remembered. Whoever was not seen for longest begins with a full one again. */
  readonly most: number;
  /** Milliseconds that only rise. */
  readonly now?: () => number;
};

/** What a bucket may owe, in times of what it holds. */
const MOST_DEBT = 10;

type Bucket = { tokens: number; at_ms: number };

/** Token buckets by name, in bounded memory. */
export type Buckets = {
  /** Takes a token and returns 0; or, where there is none, tells in how many seconds there is one. */
  take(name: string): number;
  /** In how many seconds there is a token: 0, now. Takes nothing. */
  wait(name: string): number;
  /** How many tokens are missing: 0 where nothing was taken lately. */
  spent(name: string): number;
  /**
   * Takes `cost` whether it is there or not: what is missing then is paid by waiting longer. A
   * negative cost gives back what was taken.
   */
  charge(name: string, cost: number): void;
};

export function createBuckets({ rate_s, burst, most, now = () => performance.now() }: BucketOptions): Buckets {
  const remembered = createRecent<Bucket>(most);

  /** Fills it up to now, and tells in how many seconds it holds a token. */
  function missing(bucket: Bucket | undefined): number {
    if (bucket === undefined) return 0;
    const now_ms = now();
    bucket.tokens = Math.min(burst, bucket.tokens + ((now_ms - bucket.at_ms) / 1000) * rate_s);
    bucket.at_ms = now_ms;
    return bucket.tokens >= 1 ? 0 : (1 - bucket.tokens) / rate_s;
  }

  function bucketOf(name: string): Bucket {
    let bucket = remembered.get(name);
    if (bucket === undefined) remembered.set(name, (bucket = { tokens: burst, at_ms: now() }));
    return bucket;
  }

  return {
    take(name) {
      const bucket = bucketOf(name);
      const wait_s = missing(bucket);
      if (wait_s === 0) bucket.tokens -= 1;
      return wait_s;
    },
    wait: (name) => missing(remembered.get(name)),
    spent(name) {
      const bucket = remembered.get(name);
      missing(bucket);
      return bucket === undefined ? 0 : burst - bucket.tokens;
    },
    charge(name, cost) {
      const bucket = bucketOf(name);
      missing(bucket);
      bucket.tokens = Math.max(bucket.tokens - cost, -MOST_DEBT * burst);
    },
  };
}

/** What was used lately, by name, in bounded memory. */
export type Recent<Value> = {
  get(name: string): Value | undefined;
  set(name: string, value: Value): void;
};

/**
 * Two generations: when the young one is full it becomes the old one, and what was old and not
 * asked for since is forgotten. So using and forgetting cost the same few steps, whatever strangers
 * do. Holds at most `most`, and the last half of that surely.
 */
export function createRecent<Value>(most: number): Recent<Value> {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();

  function set(name: string, value: Value): void {
    if (young.size >= Math.ceil(most / 2)) {
      old = young;
      young = new Map();
    }
    young.set(name, value);
  }

  return {
    set,
    get(name) {
      const value = young.get(name);
      if (value !== undefined) return value;
      const before = old.get(name);
      if (before !== undefined) set(name, before);
      return before;
    },
  };
}
