import { benchmark as attributes } from "./attributes.ts";
import { benchmark as batch } from "./batch.ts";
import { benchmark as classify } from "./classify.ts";
import { benchmark as drain } from "./drain.ts";
import { benchmark as exporting } from "./export.ts";
import { benchmark as few } from "./few.ts";
import { benchmark as fields } from "./fields.ts";
import { benchmark as filters } from "./filters.ts";
import type { Benchmark } from "./frame.ts";
import { benchmark as freshness } from "./freshness.ts";
import { benchmark as group } from "./group.ts";
import { benchmark as growth } from "./growth.ts";
import { benchmark as list } from "./list.ts";
import { benchmark as memory } from "./memory.ts";
import { benchmark as page } from "./page/page.ts";
import { benchmark as peers } from "./peers.ts";
import { benchmark as postSlow } from "./post-slow.ts";
import { benchmark as post } from "./post.ts";
import { benchmark as producers } from "./producers.ts";
import { benchmark as regex } from "./regex.ts";
import { benchmark as scaleCluster } from "./scale/cluster.ts";
import { benchmark as scale } from "./scale/scale.ts";
import { benchmark as tail } from "./tail.ts";
import { benchmark as turns } from "./turns.ts";
import { benchmark as walk } from "./walk.ts";

/** Benchmarks in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  post,
  postSlow,
  batch,
  producers,
  drain,
  freshness,
  tail,
  classify,
  filters,
  few,
  list,
  walk,
  group,
  attributes,
  fields,
  exporting,
  regex,
  growth,
  memory,
  turns,
  peers,
  page,
  scale,
  scaleCluster,
];
