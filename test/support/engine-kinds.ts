/**
 * False when the run uses the embedded engines only (`TEST_ENGINES=embedded`). Tests that need
 * Kafka or Elasticsearch are then declared with `test.skip`, and the runner reports them at its
 * start and at its end. It starts these engines for files that import this module.
 */
export const realEngines = process.env["TEST_ENGINES"] !== "embedded";

/** The ways of running the whole service that this run covers. */
export const KINDS: readonly ("embedded" | "cluster")[] = realEngines ? ["embedded", "cluster"] : ["embedded"];
