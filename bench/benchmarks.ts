import { benchmark as drain } from "./drain.ts";
import type { Benchmark } from "./frame.ts";
import { benchmark as freshness } from "./freshness.ts";
import { benchmark as group } from "./group.ts";
import { benchmark as list } from "./list.ts";
import { benchmark as postSlow } from "./post-slow.ts";
import { benchmark as post } from "./post.ts";

/** In the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [post, postSlow, drain, freshness, list, group];
