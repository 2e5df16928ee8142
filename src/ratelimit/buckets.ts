export type BucketOptions = {
  /** Tokens added to a bucket each second. */
  readonly rate_s: number;
  /** Capacity of a bucket: the most tokens that can be taken at once. */
  readonly burst: number;
  /** Maximum number of buckets. The least recently used are forgotten, and so are full again. */
  readonly maxEntries: number;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
};

/** Largest debt of a bucket, as a multiple of its capacity. */
const DEBT_MAX = 10;

type Bucket = { tokens: number; at_ms: number };

/** Token buckets by name, in bounded memory. */
export type Buckets = {
  /** Takes a token and returns 0, or returns the seconds until one is available. */
  take(name: string): number;
  /** Returns the seconds until a token is available, 0 if one is now. Takes nothing. */
  wait(name: string): number;
  /** Returns the number of missing tokens: 0 if none was taken recently. */
  spent(name: string): number;
  /**
   * Takes `cost` tokens even if the bucket has fewer; the debt lengthens later waits. A negative
   * cost gives tokens back.
   */
  charge(name: string, cost: number): void;
};

export function createBuckets({ rate_s, burst, maxEntries, now = () => performance.now() }: BucketOptions): Buckets {
  const buckets = createRecent<Bucket>(maxEntries);

  /** Refills the bucket up to now and returns the seconds until it has a token. */
  function missing(bucket: Bucket | undefined): number {
    if (bucket === undefined) return 0;
    const now_ms = now();
    bucket.tokens = Math.min(burst, bucket.tokens + ((now_ms - bucket.at_ms) / 1000) * rate_s);
    bucket.at_ms = now_ms;
    return bucket.tokens >= 1 ? 0 : (1 - bucket.tokens) / rate_s;
  }

  function bucketOf(name: string): Bucket {
    let bucket = buckets.get(name);
    if (bucket === undefined) buckets.set(name, (bucket = { tokens: burst, at_ms: now() }));
    return bucket;
  }

  return {
    take(name) {
      const bucket = bucketOf(name);
      const wait_s = missing(bucket);
      if (wait_s === 0) bucket.tokens -= 1;
      return wait_s;
    },
    wait: (name) => missing(buckets.get(name)),
    spent(name) {
      const bucket = buckets.get(name);
      missing(bucket);
      return bucket === undefined ? 0 : burst - bucket.tokens;
    },
    charge(name, cost) {
      const bucket = bucketOf(name);
      missing(bucket);
      bucket.tokens = Math.max(bucket.tokens - cost, -DEBT_MAX * burst);
    },
  };
}

/** Recently used values by name, in bounded memory. */
export type Recent<Value> = {
  get(name: string): Value | undefined;
  set(name: string, value: Value): void;
};

/**
 * Creates a cache of two generations. When the young one is full it becomes the old one, and
 * entries of the previous old one that were not used since are dropped. So each use takes constant
 * time. It holds at most `most` entries, and always the most recent half.
 */
export function createRecent<Value>(maxEntries: number): Recent<Value> {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();

  function set(name: string, value: Value): void {
    if (young.size >= Math.ceil(maxEntries / 2)) {
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
