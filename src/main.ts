import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";

import { createDeadLetters } from "../pipelines/deadletters/redrive.ts";
import type { Locate } from "../pipelines/enrich/enrich.ts";
import { openGeoip } from "../pipelines/enrich/geoip.ts";
import { startNotifier } from "../pipelines/notify/notifier.ts";
import { startReclassifying } from "../pipelines/reclassify/reclassify.ts";
import { withRetentionFilter } from "../pipelines/retention/filter.ts";
import { startRetention } from "../pipelines/retention/job.ts";
import { startPipeline } from "../pipelines/runner.ts";
import { CATALOG_POLL_MS } from "./catalog/catalog.ts";
import { readLastAccepted } from "./bus/accepted.ts";
import type { DeletionLog } from "./bus/deletions.ts";
import type { EngineParts, Engines, Ports } from "./engines/engines.ts";
import { LoggiaError, StartError } from "./errors.ts";
import { createIdSource } from "./events/id.ts";
import type { FirstStart } from "./bootstrap.ts";
import { quotaOwner } from "./ratelimit/quota-owner.ts";
import { createOriginCheck } from "./auth/requests/origin-check.ts";
import { reportEvictions } from "./http/limits/eviction-report.ts";
import { closeGracefully, LISTENERS, listenOn } from "./http/listen.ts";
import { createHolds, type Holds } from "./monitoring/holds.ts";
import { measureStore } from "./monitoring/measured.ts";
import { createMonitoring, type Monitoring } from "./monitoring/monitoring.ts";
import { type Continuity, watchContinuity } from "./operations/continuity.ts";
import { followDecisions } from "./operations/decisions.ts";
import { createReclassifications } from "./operations/reclassification.ts";
import { createWriteCoalescer } from "./ingest/append/write-coalescer.ts";
import { createIngestMemory } from "./ingest/kit/ingest-memory.ts";
import { createPostListener } from "./ingest/posting/listener.ts";
import { previewHook } from "./ingest/protocols/hooks/preview.ts";
import type { Settings } from "./settings.ts";
import type { Address } from "./settings/values.ts";
import { requireFreeAddresses } from "./start/addresses.ts";
import { type Connections, shareConnections } from "./start/connections.ts";
import { startFirstRecords } from "./start/first-records.ts";
import { openReadWatermark } from "./start/read-watermark.ts";
import { openPosting } from "./start/watermarks.ts";
import { openIdempotency } from "./start/idempotency.ts";
import { firstMoment, openDeletionLog } from "./start/ids.ts";
import { createLimits, type Limits } from "./start/limits.ts";
import { type ListenerAddress, startListeners } from "./start/listeners.ts";
import { responseMemory_mb, queuedPostMemory_mb } from "./start/memory.ts";
import { createOperations } from "./start/operations.ts";
import { lineReaderBy } from "./start/plain.ts";
import { POST_TIMES, type PostTimes, type StartOptions } from "./start/options.ts";
import { startSessionRemoval } from "./auth/sessions/session-removal.ts";
import { Scheduler } from "./scheduling/scheduler.ts";

/** A running service: the roles and engines that its settings name. */
export type Loggia = {
  /** Address of the API; null if this process does not play that role. */
  readonly api: Address | null;
  readonly post: Address | null;
  /** Addresses for producers with protocols other than HTTP. */
  readonly listeners: readonly ListenerAddress[];
  /** Additional address for health and metrics; null if none is set. */
  readonly monitoring: Address | null;
  /** Records made by the first start, with their secrets; null at later starts. */
  readonly first: FirstStart | null;
  /** The ports, for tests and tools that need more than the HTTP addresses. */
  readonly ports: Ports;
  /** Rejects when a role has failed permanently. */
  readonly done: Promise<void>;
  /** Makes readiness fail while requests are still served, so that load balancers send no more. */
  announceStop(): void;
  /** Stops accepting requests, waits for those in progress, and closes the engines. */
  close(): Promise<void>;
};

/** The GeoIP lookup, if a database is configured. */
type Geoip = { readonly locate?: Locate };

/** `accepted` returns the time of the largest id on the bus when this process started, or 0. */
type Opened = Engines & {
  readonly scheduler: Scheduler;
  readonly accepted: () => Promise<number>;
  readonly deletions: DeletionLog;
};

const POST_MAX_WAITING_EVENTS = 50_000;
const MB = 1024 * 1024;
/** Consumer group of the processes that share the pipeline's work. */
const PIPELINE_GROUP = "pipeline";
/** Where `infra/page.ts` writes the page. */
const PAGE_FOLDER = join(import.meta.dirname, "../dist/page");
/** How long roles may take to finish their work at shutdown. */
const CLOSE_TIMEOUT_MS = 8_000;

/**
 * The composition root, the only place that chooses engines.
 * @throws StartError in one line, with nothing left open
 */
export async function startLoggia(
  settings: Settings,
  log: Logger,
  { show = async () => {}, rateClock = () => performance.now(), postTimes = POST_TIMES, answerPage }: StartOptions = {},
): Promise<Loggia> {
  const connections = shareConnections(settings, log);
  const closing = new AsyncDisposableStack();
  try {
    const holds = createHolds({ log });
    const scheduler = new Scheduler();
    const opened = await openEngines(settings, { holds, scheduler, log }, closing);
    const accepted = readLastAccepted(opened.ports.bus);
    const engines = { ...opened, scheduler, accepted, deletions: openDeletionLog(opened, await accepted(), log) };
    const { ports } = engines;
    const watch = { ...startWatch(settings, engines, { holds, rateClock }, log, closing), connections };
    watch.metrics.watchWals(engines.wals);
    const decisions = closing.use(followDecisions({ decisions: engines.decisions, holds, log }));
    const continuity = watchEngines(settings, engines, watch, log, closing);
    const monitoring = await listenForMonitoring(settings, watch, log, closing);
    await continuity?.compare();
    await decisions.poll();
    // What can fail comes before the first secrets are shown.
    const locating = await openGeoipFile(settings, log, closing);
    await requireFreeAddresses(settings);
    const first = await startFirstRecords(ports.catalog, settings, { ...watch, continuity, show, log, closing });
    const done: Promise<void>[] = [];
    const { roles } = settings;
    if (roles.has("pipeline")) done.push(...(await startPipelines(settings, engines, watch, locating, log, closing)));
    let post: Address | null = null;
    let listeners: readonly ListenerAddress[] = [];
    const apiWatch = { ...watch, continuity, answerPage, postPort: () => post?.port };
    const api = roles.has("api") ? await startApi(settings, engines, apiWatch, locating, log, closing) : null;
    if (roles.has("post"))
      ({ post, listeners } = await startPost(settings, engines, { ...watch, postTimes }, log, closing));
    // `done` reports a role that fails later. Until it is awaited, its rejection must not end the
    // process.
    const failed = Promise.race([...done, new Promise<never>(() => {})]);
    failed.catch(() => {});
    watch.enter("running");
    const announceStop = (): void => watch.enter("stopping");
    const close = () => closing.disposeAsync();
    return { api, post, listeners, monitoring, first, ports, done: failed, announceStop, close };
  } catch (error) {
    await closing.disposeAsync();
    // An unreachable engine is for the operator to fix, whichever module met it first.
    throw error instanceof LoggiaError ? new StartError(error.message, { cause: error }) : error;
  }
}

/** Loads only the chosen engines. The others would take tens of megabytes of memory. */
async function openEngines(settings: Settings, parts: EngineParts, closing: AsyncDisposableStack): Promise<Engines> {
  switch (settings.engines.kind) {
    case "embedded": {
      const { openEmbedded } = await import("./engines/embedded.ts");
      return await openEmbedded(settings, parts, closing);
    }
    case "cluster": {
      const { openCluster } = await import("./engines/cluster.ts");
      return await openCluster(settings, settings.engines, parts, closing);
    }
    default:
      return settings.engines satisfies never;
  }
}

async function openGeoipFile({ geoip: file }: Settings, log: Logger, closing: AsyncDisposableStack): Promise<Geoip> {
  if (file === null) return {};
  return { locate: closing.use(await openGeoip({ file, setting: "LOGGIA_GEOIP", log })).locate };
}

/** Metrics, holds and limits, shared by all roles of the process. */
type Watch = Monitoring & { readonly limits: Limits; readonly holds: Holds; readonly connections: Connections };

function startWatch(
  settings: Settings,
  { ports, clock, deletions }: Opened,
  { holds, rateClock }: { readonly holds: Holds; readonly rateClock: () => number },
  log: Logger,
  closing: AsyncDisposableStack,
): Omit<Watch, "connections"> {
  const { roles } = settings;
  const deadLetters = createDeadLetters({ ...ports, deletions });
  const separateMetrics = settings.monitoring !== null;
  const monitoring = closing.use(
    createMonitoring({ ports, deadLetters, holds, group: PIPELINE_GROUP, roles, separateMetrics, log }),
  );
  const limits = createLimits(settings, { metrics: monitoring.metrics, now: rateClock, log }, closing);
  monitoring.metrics.watchClock(() => clock.ahead() / 1000);
  monitoring.metrics.watchQueries(() => limits.limiter.queries);
  monitoring.metrics.watchAnswers(() => limits.limiter.answers);
  return { ...monitoring, limits, holds };
}

/**
 * Compares the engines with their recorded state before anything is written to them. Processes that
 * only post skip this, as their readiness does not depend on it.
 */
function watchEngines(
  { roles, engines }: Settings,
  { ports, marks }: Opened,
  { holds, ...monitoring }: Watch,
  log: Logger,
  closing: AsyncDisposableStack,
): Continuity | null {
  if (!roles.has("api") && !roles.has("pipeline")) return null;
  const isEmbedded = engines.kind === "embedded";
  const options = { ...ports, marks, holds, group: PIPELINE_GROUP, log, keepsOffsets: isEmbedded };
  const continuity = closing.use(watchContinuity({ ...options, interval_ms: isEmbedded ? 5_000 : 30_000 }));
  monitoring.watchComparison(() => continuity.fault());
  return continuity;
}

async function listenForMonitoring(
  { monitoring: address }: Settings,
  watch: Watch,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Address | null> {
  if (address === null) return null;
  const { connections, metrics } = watch;
  const onEvicted = reportEvictions("monitoring", log, metrics.evicted);
  const server = watch.listener({ connections: connections.monitoring, onEvicted });
  const listening = await listenOn(server, address, LISTENERS.monitoring);
  closing.defer(() => closeGracefully(server, CLOSE_TIMEOUT_MS));
  return listening;
}

/**
 * Starts the pipeline of events and, for each configured channel, a notifier. Returns promises
 * that reject when one of them fails.
 */
async function startPipelines(
  settings: Settings,
  { ports, clock, scheduler, notifications: documents, reclassifications }: Opened,
  watch: Watch,
  locating: Geoip,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Promise<void>[]> {
  const { metrics } = watch;
  const { channels, engines } = settings;
  const store = withRetentionFilter({
    ...ports,
    store: measureStore(ports.store, metrics.engines),
    now: clock.now,
    onExpired: (count) => log.debug({ count }, "retention: skipped expired events"),
  });
  const pipeline = await startPipeline({
    ...ports,
    store,
    openLines: lineReaderBy(settings),
    scheduler,
    log,
    now: clock.now,
    group: PIPELINE_GROUP,
    // On a cluster another process may be the one that sends notices.
    notices: channels.length > 0 || engines.kind === "cluster",
    // On a cluster, lists with `sinceid` use the read watermark, and the bus keeps the offsets.
    // Embedded, one write is made while the next is decoded, and a transaction costs the same
    // whatever its size.
    ...(engines.kind === "cluster"
      ? { inOrder: false }
      : { inOrder: true, maxInFlight: 2, maxEvents: 10_000, maxBytes: 20_000_000 }),
    ...locating,
  });
  metrics.watchPipeline(() => pipeline.stats());
  watch.watchDeliveries(() => pipeline.fault());
  const roles: Role[] = [pipeline];
  const retention = startRetention({ ...ports, clock, log });
  closing.defer(() => retention.close());
  const isAlone = engines.kind === "embedded";
  const reclassifying = startReclassifying({
    ...ports,
    documents: reclassifications,
    group: PIPELINE_GROUP,
    propagation_ms: isAlone ? 0 : 2 * CATALOG_POLL_MS,
    takeOver_ms: isAlone ? 0 : undefined,
    isHeld: () => watch.holds.list().some(({ name }) => name === "store" || name === "catalog"),
    now: clock.now,
    scheduler,
    log,
  });
  metrics.watchJob("reclassify", () => reclassifying.running() > 0);
  closing.defer(() => reclassifying.close());
  closing.defer(async () => void (await Promise.all(roles.map((role) => role.close(CLOSE_TIMEOUT_MS)))));
  if (documents !== null) {
    for (const channel of channels) {
      const notifier = await startNotifier({ ...ports, documents, channel, now: clock.now, log });
      metrics.watchNotifier(channel.kind, () => notifier.stats());
      roles.push(notifier);
    }
  }
  return roles.map(({ done }) => done);
}

type Role = { close(timeout_ms: number): Promise<void>; readonly done: Promise<void> };

type ApiWatch = Watch & {
  readonly continuity: Continuity | null;
  readonly answerPage: StartOptions["answerPage"];
  /** The port on which this process accepts posts, once it does. */
  readonly postPort: () => number | undefined;
};

async function startApi(
  settings: Settings,
  { ports, clock, scheduler, backup, accepted, deletions, watermarks, reclassifications }: Opened,
  { metrics, limits, opsEndpoints, holds, connections, continuity, answerPage: givenPage, postPort }: ApiWatch,
  locating: Geoip,
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<Address> {
  const { api: address, post, postUrl, hosts, trustedProxies } = settings;
  const { catalog } = ports;
  const store = measureStore(ports.store, metrics.engines);
  const readWatermark = await openReadWatermark(
    { ports, clock, accepted, watermarks, group: PIPELINE_GROUP, log },
    closing,
  );
  const openLines = lineReaderBy(settings);
  const parts = { now: clock.now, copy: backup, openLines, scheduler, holds, continuity, locating, log, closing };
  const operations = createOperations(ports, deletions, parts);
  const { replay, backup: copies } = operations;
  metrics.watchJob("replay", () => replay.last()?.state === "running");
  if (copies !== null) metrics.watchJob("backup", () => copies.last()?.state === "running");
  closing.use(startSessionRemoval({ sessions: catalog, clock, log }));
  const { createApi } = await import("./api/api.ts");
  const { createPageHandler } = await import("./http/assets.ts");
  const answerOps = opsEndpoints("api");
  const answerPage = givenPage ?? createPageHandler(PAGE_FOLDER);
  const api = createApi({
    catalog,
    store,
    deletions,
    scheduler,
    log,
    readWatermark,
    operations,
    reclassifications: createReclassifications(reclassifications, clock.now),
    ...limits,
    // Unread responses may take half of the memory of responses.
    limits: { ...connections.api, unread_bytes: (responseMemory_mb(settings) * MB) / 2 },
    browsers: createOriginCheck({ hosts: [...hosts, address.host], trustedProxies }),
    posting: () => ({ url: postUrl, port: postPort() ?? post.port, mail: settings.channels.length > 0 }),
    previewHook: (request) => previewHook(request, { limits: settings.limits, read_ms: clock.latest(), scheduler }),
    observe: metrics.http,
    onEvicted: reportEvictions("the API", log, metrics.evicted),
    answerFirst: (request, response) => answerOps(request, response) || answerPage(request, response),
  });
  const listening = await api.listen(address);
  closing.defer(() => api.close());
  return listening;
}

async function startPost(
  settings: Settings,
  { ports, clock, scheduler, batches, watermarks, accepted, deletions }: Opened,
  { metrics, appends, limits, opsEndpoints, connections, postTimes }: Watch & { readonly postTimes: PostTimes },
  log: Logger,
  closing: AsyncDisposableStack,
): Promise<{ post: Address; listeners: readonly ListenerAddress[] }> {
  const { catalog } = ports;
  const from = firstMoment(await accepted(), clock);
  const posting = await openPosting({ watermarks, clock, from, log }, closing);
  const coalescer = createWriteCoalescer({
    bus: appends,
    quotaOwnerOf: (log) => quotaOwner(catalog, log),
    ids: createIdSource({ now: posting.now, host: clock.host }),
    ...postTimes,
    maxQueuedEvents: POST_MAX_WAITING_EVENTS,
    maxQueuedBytes: queuedPostMemory_mb(settings) * MB,
    // On a single core, the busy-poll would take the time that the bus needs.
    busyPoll: settings.engines.kind === "embedded" && availableParallelism() > 1 ? scheduler.busyPoll : undefined,
  });
  posting.follow(coalescer);
  const idempotency = await openIdempotency(
    { ports, clock, batches, deletions, metrics, postTimes, scheduler, log },
    closing,
  );
  const memory = createIngestMemory();
  const shared = { catalog, coalescer, idempotency, clock, ...limits, memory, scheduler, log };
  const server = createPostListener({
    ...shared,
    limits: settings.limits,
    protocols: settings.protocols,
    usesFastPath: !settings.plain.has("fast-path"),
    openLines: lineReaderBy(settings),
    observe: metrics.posts,
    connections: connections.post,
    onEvicted: reportEvictions("posting", log, metrics.evicted),
    opsEndpoints: opsEndpoints("post"),
  });
  const post = await listenOn(server, settings.post, LISTENERS.post);
  closing.defer(() => coalescer.drain());
  closing.defer(() => closeGracefully(server, CLOSE_TIMEOUT_MS));
  const options = { ...shared, metrics, connections: connections.listeners };
  return { post, listeners: await startListeners(settings, options, closing) };
}
